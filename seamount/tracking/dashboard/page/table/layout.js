// Where columns and rows stand: widths by type, and what of them is in view.
import { columnTitle } from "../format.js";

export const ROW = 34;
export const TICK = 38;
export const NAME = 250;
const OVERSCAN = 8;
const WIDTHS = { number: 104, duration: 108, size: 96, time: 112, bool: 84, text: 136, mixed: 120 };

export function columnsOf(names, pinned, types) {
  const kept = [];
  const loose = [];
  let keptLeft = TICK + NAME;
  let left = 0;
  const all = [...pinned, ...names.filter((name) => !pinned.includes(name))];
  for (const name of all) {
    const type = types.get(name) ?? "number";
    const title = columnTitle(name);
    const wanted = title.name.length * 7.4 + title.kind.length * 6 + 52;
    const column = { name, type, title, width: Math.round(Math.min(280, Math.max(WIDTHS[type] ?? 120, wanted))) };
    if (pinned.includes(name)) {
      kept.push(column);
      keptLeft += column.width;
    } else {
      loose.push({ ...column, left });
      left += column.width;
    }
  }
  return { kept, loose: loose.map((c) => ({ ...c, left: c.left + keptLeft })), keptWidth: keptLeft, width: keptLeft + left };
}

export function inView(loose, scrollLeft, width, keptWidth) {
  const from = scrollLeft + keptWidth - 100;
  const to = scrollLeft + width + 100;
  return loose.filter((column) => column.left + column.width >= from && column.left <= to);
}

export function rowsInView(scrollTop, height, count) {
  const first = Math.max(0, Math.floor(scrollTop / ROW) - OVERSCAN);
  const last = Math.min(count - 1, Math.ceil((scrollTop + height) / ROW) + OVERSCAN);
  return [first, last];
}

// What stands in each line of the grid: runs, or groups with their runs where they are open.
export function linesOf(info, groups, open) {
  if (!info) return { count: 0, line: () => null };
  if (!groups.length) return { count: info.total, line: (place) => ({ run: place }) };
  const lines = [];
  for (const group of groups) {
    lines.push({ group });
    if (open.has(group.key)) for (let n = 0; n < group.count; n += 1) lines.push({ run: group.start + n });
  }
  return { count: lines.length, line: (place) => lines[place] };
}
