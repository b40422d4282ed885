// The head of the grid: a click sorts, the dots open what else may be done with a column.
import { html, useState } from "../html.js";
import { Icon } from "../icons.js";
import { Menu } from "../popover.js";
import { changeTable } from "../state.js";

export function HeadCell({ column, table, columns, style }) {
  const [menu, setMenu] = useState(null);
  const sorted = table.sort === column.name;
  const direction = !sorted ? "none" : table.descending ? "descending" : "ascending";
  return html`<div class=${`headcell ${style ? "loose" : ""} ${column.type}`} role="columnheader" aria-sort=${direction}
    style=${{ width: `${column.width}px`, ...style }} title=${column.name}
    onContextMenu=${(e) => (e.preventDefault(), setMenu({ x: e.clientX, y: e.clientY }))}>
    <button onClick=${() => sortBy(column.name, table)}>
      ${column.title.kind ? html`<small>${column.title.kind}</small>` : null}<b>${column.title.name}</b>
      ${sorted ? html`<span class="arrow">${table.descending ? "▼" : "▲"}</span>` : null}
    </button>
    <button class="more" aria-label=${`More for ${column.name}`} aria-expanded=${Boolean(menu)} onClick=${(e) => {
      const box = e.currentTarget.getBoundingClientRect();
      setMenu({ x: box.left, y: box.bottom + 4 });
    }}><${Icon} name="more" /></button>
    ${menu ? html`<${Menu} at=${menu} label=${column.name} close=${() => setMenu(null)} items=${items(column.name, table, columns)} />` : null}
  </div>`;
}

function sortBy(name, table) {
  if (table.sort !== name) changeTable({ sort: name, descending: false });
  else if (!table.descending) changeTable({ descending: true });
  else changeTable({ sort: null, descending: false });
}

function items(name, table, columns) {
  const pinned = table.pinned_columns ?? [];
  const groups = table.group_by ?? [];
  const without = (list) => list.filter((each) => each !== name);
  const place = columns.indexOf(name);
  const moved = (by) => {
    const next = without(columns);
    next.splice(place + by, 0, name);
    return next;
  };
  return [
    { says: "Sort, lowest first", run: () => changeTable({ sort: name, descending: false }) },
    { says: "Sort, highest first", run: () => changeTable({ sort: name, descending: true }) },
    null,
    groups.includes(name)
      ? { says: "Do not group by it", run: () => changeTable({ group_by: without(groups) }) }
      : { says: "Group by it", run: () => changeTable({ group_by: [...groups, name] }) },
    pinned.includes(name)
      ? { says: "Unpin column", run: () => changeTable({ pinned_columns: without(pinned) }) }
      : { says: "Pin column", run: () => changeTable({ columns, pinned_columns: [...pinned, name] }) },
    null,
    ...(place > 0 ? [{ says: "Move left", run: () => changeTable({ columns: moved(-1) }) }] : []),
    ...(place < columns.length - 1 ? [{ says: "Move right", run: () => changeTable({ columns: moved(1) }) }] : []),
    { says: "Hide column", run: () => changeTable({ columns: without(columns), pinned_columns: without(pinned) }) },
  ];
}
