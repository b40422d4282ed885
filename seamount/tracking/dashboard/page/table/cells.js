// One line of the grid: a run or a group. Values are text, whatever they hold.
import { cell, columnTitle, number } from "../format.js";
import { html } from "../html.js";
import { Icon } from "../icons.js";

export function Cell({ column, value, style }) {
  const loading = value === undefined;
  const [shown, full] = loading ? ["", ""] : cell(value, column.type);
  const none = value === null ? " none" : "";
  return html`<div class=${`cell ${style ? "loose" : ""} ${column.type}${none}`} role="gridcell" title=${full}
    style=${{ width: `${column.width}px`, ...style }}>
    ${column.name === "state" ? html`<span class=${`state ${stateClass(shown)}`}>${shown}</span>` : html`<span>${shown}</span>`}
  </div>`;
}

export function stateClass(state) {
  return /^[A-Z][a-z]+$/.test(state) ? state : "";
}

export function GroupCell({ column, summary, style }) {
  let content = "";
  let title = "";
  if (summary && "mean" in summary) {
    const format = (value) => cell(value, column.type === "time" ? "time" : column.type === "number" ? "number" : column.type)[0];
    content = html`<span>${format(summary.mean)}</span>`;
    title = `mean ${number(summary.mean)}, from ${number(summary.min)} to ${number(summary.max)}`;
  } else if (summary && "same" in summary) content = html`<span>${cell(summary.same, column.type)[0]}</span>`;
  else if (summary?.kinds) content = html`<span class="spread">${summary.kinds} values</span>`;
  return html`<div class=${`cell ${style ? "loose" : ""} ${column.type}`} role="gridcell" title=${title}
    style=${{ width: `${column.width}px`, ...style }}>${content}</div>`;
}

export function RunName({ run, pinned, colour, openRun, width }) {
  return html`<div class="cell called" role="rowheader" style=${{ width: `${width}px` }} title=${`${run.name}\n${run.project} · ${run.id}`}>
    <i class="dot" style=${colour ? { background: colour } : null}></i>
    ${openRun ? html`<a href="#" tabindex="-1" onClick=${(e) => (e.preventDefault(), openRun(run.id))}>${run.name}</a>` : html`<span>${run.name}</span>`}
    ${pinned ? html`<span class="pin" title="pinned"><${Icon} name="pin" /></span>` : null}
  </div>`;
}

export function GroupName({ group, open, toggle, width }) {
  return html`<div class="cell called" role="rowheader" style=${{ width: `${width}px` }}>
    <button class="fold" tabindex="-1" aria-expanded=${open} onClick=${toggle} aria-label=${open ? "Fold" : "Unfold"}>
      <${Icon} name=${open ? "down" : "right"} /></button>
    <span class="keys">${Object.entries(group.values).map(([name, value]) => html`<span key=${name}>
      <i>${columnTitle(name).name}</i> ${cell(value)[0]}</span>`)}</span>
    <small>${group.count}</small>
  </div>`;
}
