// The grid: as many lines and columns as are in view, whatever the table's size.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { Cell, GroupCell, GroupName, RunName } from "./cells.js";
import { HeadCell } from "./head.js";
import { columnsOf, inView, linesOf, NAME, ROW, rowsInView, TICK } from "./layout.js";

export function Grid({ rows, table, columns, chosen, toggle, pin, colourOf, openRun, open, fold }) {
  const box = useRef(null);
  const [port, setPort] = useState({ top: 0, left: 0, width: 1200, height: 700 });
  const [active, setActive] = useState(0);
  const pinned = table.pinned_columns ?? [];
  const layout = columnsOf(columns, pinned, rows.types);
  const lines = useMemo(() => linesOf(rows.info, rows.groups, open), [rows.info, rows.groups, open]);
  const topRows = rows.pinned ?? [];
  const topHeight = ROW * (1 + topRows.length) + (topRows.length ? 4 : 0);
  const shown = inView(layout.loose, port.left, port.width, layout.keptWidth);
  const [first, last] = rowsInView(port.top, port.height - topHeight, lines.count);

  useLayoutEffect(() => {
    const node = box.current;
    let frame = null;
    const look = () => {
      frame = null;
      setPort({ top: node.scrollTop, left: node.scrollLeft, width: node.clientWidth, height: node.clientHeight });
    };
    const soon = () => (frame ??= requestAnimationFrame(look));
    const sizes = new ResizeObserver(soon);
    node.addEventListener("scroll", soon, { passive: true });
    sizes.observe(node);
    return () => (node.removeEventListener("scroll", soon), sizes.disconnect(), cancelAnimationFrame(frame));
  }, []);

  const fields = [...layout.kept, ...shown].map((column) => column.name);
  useEffect(() => {
    const timer = setTimeout(() => askFor(rows, lines, first, last, fields), 30);
    return () => clearTimeout(timer);
  }, [first, last, fields.join("\n"), rows.info, lines]);

  const key = (event) => {
    if (event.target !== box.current) return;
    const page = Math.max(1, Math.floor((port.height - topHeight) / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    const line = lines.line(active);
    const run = line && !line.group ? rows.at(line.run) : null;
    if (by !== undefined) {
      const next = Math.max(0, Math.min(lines.count - 1, active + by));
      setActive(next);
      reveal(box.current, next, port.height - topHeight);
    } else if (event.key === " " && run) toggle(run.id);
    else if (event.key === "p" && run) pin(run.id);
    else if (event.key === "Enter" && run && openRun) openRun(run.id);
    else if ((event.key === " " || event.key === "Enter") && line?.group) fold(line.group.key);
    else return;
    event.preventDefault();
  };

  const drawn = [];
  for (let place = first; place <= last; place += 1) {
    const line = lines.line(place);
    if (!line) continue;
    const style = { transform: `translateY(${place * ROW}px)`, width: `${layout.width}px` };
    const common = { key: place, place, style, layout, shown, active: place === active };
    drawn.push(
      line.group
        ? html`<${GroupLine} ...${common} group=${line.group} open=${open.has(line.group.key)} toggle=${() => fold(line.group.key)} />`
        : html`<${RunLine} ...${common} run=${rows.at(line.run)} rows=${rows} chosen=${chosen} toggle=${toggle}
            colourOf=${colourOf} openRun=${openRun} pinned=${topRows} />`,
    );
  }
  return html`<div class=${`grid ${rows.waiting ? "waiting" : ""}`} ref=${box} tabindex="0" role="grid" aria-label="Runs"
    aria-rowcount=${lines.count + 1} aria-colcount=${columns.length + 1} aria-multiselectable="true" aria-busy=${rows.waiting}
    aria-activedescendant=${`line-${active}`} onKeyDown=${key}>
    <div class="top" style=${{ width: `${layout.width}px` }}>
      <div class="row heads" role="row" style=${{ width: `${layout.width}px` }}>
        <div class="kept"><div class="headcell tick" style=${{ width: `${TICK}px` }}></div>
          <${HeadCell} column=${{ name: "name", type: "text", width: NAME, title: { kind: "", name: "Run" } }} table=${table} columns=${columns} />
          ${layout.kept.map((c) => html`<${HeadCell} key=${c.name} column=${c} table=${table} columns=${columns} />`)}
        </div>
        ${shown.map((c) => html`<${HeadCell} key=${c.name} column=${c} table=${table} columns=${columns} style=${{ left: `${c.left}px` }} />`)}
      </div>
      ${topRows.map((id) => html`<${RunLine} key=${id} place=${`pinned-${id}`} style=${{ width: `${layout.width}px` }} layout=${layout} shown=${shown}
        run=${rows.runs.get(id)} rows=${rows} chosen=${chosen} toggle=${toggle} colourOf=${colourOf} openRun=${openRun} pinned=${topRows} />`)}
      ${topRows.length ? html`<div class="divider"></div>` : null}
    </div>
    <div class="sizer body" role="rowgroup" style=${{ height: `${lines.count * ROW + 12}px`, width: `${layout.width}px` }}>${drawn}</div>
  </div>`;
}

function RunLine({ place, style, layout, shown, active, run, rows, chosen, toggle, colourOf, openRun, pinned }) {
  const known = run ?? { id: "", name: "", project: "" };
  const on = chosen.has(known.id);
  const value = (column) => (run ? (rows.cell(run.id, column.name) ?? (rows.cells.get(run.id)?.has(column.name) ? null : undefined)) : undefined);
  return html`<div class=${`row ${on ? "chosen" : ""} ${active ? "active" : ""}`} role="row" id=${`line-${place}`}
    aria-selected=${on} style=${style}>
    <div class="kept">
      <div class="cell tick"><input type="checkbox" tabindex="-1" checked=${on} disabled=${!run}
        aria-label=${`Show ${known.name} in charts`} onChange=${() => toggle(known.id)} /></div>
      <${RunName} run=${known} width=${NAME} colour=${colourOf(known.id)} openRun=${openRun} pinned=${pinned.includes(known.id)} />
      ${layout.kept.map((c) => html`<${Cell} key=${c.name} column=${c} value=${value(c)} />`)}
    </div>
    ${shown.map((c) => html`<${Cell} key=${c.name} column=${c} value=${value(c)} style=${{ left: `${c.left}px` }} />`)}
  </div>`;
}

function GroupLine({ place, style, layout, shown, active, group, open, toggle }) {
  return html`<div class=${`row group ${active ? "active" : ""}`} role="row" id=${`line-${place}`} aria-expanded=${open} style=${style}>
    <div class="kept"><${GroupName} group=${group} open=${open} toggle=${toggle} width=${TICK + NAME} />
      ${layout.kept.map((c) => html`<${GroupCell} key=${c.name} column=${c} summary=${group.cells.get(c.name)} />`)}
    </div>
    ${shown.map((c) => html`<${GroupCell} key=${c.name} column=${c} summary=${group.cells.get(c.name)} style=${{ left: `${c.left}px` }} />`)}
  </div>`;
}

function askFor(rows, lines, first, last, fields) {
  const places = [];
  for (let place = first; place <= last; place += 1) {
    const line = lines.line(place);
    if (line && !line.group) places.push(line.run);
  }
  rows.need(places.length ? Math.min(...places) : 0, places.length ? Math.max(...places) : 0, fields);
}

function reveal(node, place, height) {
  const top = place * ROW;
  if (top < node.scrollTop) node.scrollTop = top;
  else if (top + ROW > node.scrollTop + height) node.scrollTop = top + ROW - height + 12;
}
