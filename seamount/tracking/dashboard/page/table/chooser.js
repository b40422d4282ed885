// Which columns: any attribute of the runs that are shown, by part of its name.
import { get } from "../api.js";
import { attribute } from "../filter_bar.js";
import { html, useEffect, useState } from "../html.js";
import { Popover } from "../popover.js";
import { changeTable } from "../state.js";

const SHOWN = 150;
const KINDS = [
  ["run", "Run"], ["metric", "Metrics"], ["config", "Configs"], ["tag", "Tags"], ["file", "Files (size)"],
];
const AGGREGATES = ["last", "min", "max", "mean", "count"];

export function ColumnChooser({ table, columns }) {
  return html`<${Popover} icon="columns" label="Columns" tally=${columns.length} title="Columns" kind="chooser" side="right">
    <${Chooser} table=${table} columns=${columns} />
  </${Popover}>`;
}

function Chooser({ table, columns }) {
  const [names, set] = useState(null);
  const [text, setText] = useState("");
  const [aggregate, setAggregate] = useState("last");
  useEffect(() => {
    const { where, search, project } = table;
    get("columns", { spec: { where, search, project } }).then(set, () => set({}));
  }, []);
  const found = names ? matching(names, text, aggregate) : [];
  const toggle = (name) => changeTable({
    columns: columns.includes(name) ? columns.filter((each) => each !== name) : [...columns, name],
    pinned_columns: (table.pinned_columns ?? []).filter((each) => each !== name || !columns.includes(name)),
  });
  let left = SHOWN;
  return html`<input type="search" aria-label="Part of a column's name" placeholder="Find a column" value=${text} onInput=${(e) => setText(e.target.value)} />
    <div class="row"><label class="field">Metrics as
      <select value=${aggregate} onChange=${(e) => setAggregate(e.target.value)}>
        ${AGGREGATES.map((each) => html`<option key=${each}>${each}</option>`)}
      </select></label>
      <button class="plain" onClick=${() => changeTable({ columns: null, pinned_columns: null })}>As at first</button>
    </div>
    <div class="list">
      ${names ? null : html`<p class="note">Looking…</p>`}
      ${KINDS.map(([kind, title]) => {
        const mine = found.filter((each) => each.kind === kind);
        const part = mine.slice(0, Math.max(0, left));
        left -= part.length;
        if (!part.length) return null;
        return html`<div key=${kind} role="group" aria-label=${title}><h4>${title}</h4>
          ${part.map((each) => html`<label key=${each.column}><input type="checkbox" checked=${columns.includes(each.column)}
            onChange=${() => toggle(each.column)} /><span title=${each.column}>${each.name}</span></label>`)}
          ${mine.length > part.length ? html`<p class="note">${mine.length - part.length} more: type a part of the name</p>` : null}
        </div>`;
      })}
      ${names && !found.length ? html`<p class="note">No attribute has “${text}” in its name.</p>` : null}
    </div>`;
}

function matching(names, text, aggregate) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  return KINDS.flatMap(([kind]) => (names[kind] ?? [])
    .filter((name) => kind !== "run" || name !== "name")
    .filter((name) => wanted.every((part) => name.toLowerCase().includes(part)))
    .map((name) => ({ kind, name, column: attribute(kind, name, aggregate) })));
}
