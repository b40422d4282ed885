// The runs beside the charts: which are drawn, in which colour; a pointer on one finds its lines.
import { html, useEffect, useState } from "../html.js";
import { Sample } from "./card.js";
import { highlight, highlighted, onHighlight } from "./hover.js";
import { colourOfRun, dashOfRun } from "./palette.js";
import { stateClass } from "../table/cells.js";

export function RunPanel({ runs, drawn, chosen, total, toggle, clear, grouped }) {
  const [lit, setLit] = useState(highlighted());
  useEffect(() => onHighlight(setLit), []);
  return html`<aside class="runs" aria-label="Runs">
    <div class="runs-head"><b>${chosen.length ? `${chosen.length} chosen` : `Newest ${drawn.length} of ${total}`}</b>
      ${chosen.length ? html`<button class="plain" onClick=${clear}>All</button>` : null}</div>
    <ul>${runs.map((run) => {
      const place = drawn.indexOf(run.id);
      // Lines of groups have colours of their own, which their legends tell.
      const style = place < 0 || grouped ? null : { colour: colourOfRun(place), dash: dashOfRun(place) };
      return html`<li key=${run.id} class=${lit === run.id ? "lit" : ""} onPointerEnter=${() => place >= 0 && highlight(run.id)} onPointerLeave=${() => highlight(null)}>
        <label title=${`${run.name}\n${run.project} · ${run.state}`}><input type="checkbox" checked=${place >= 0} onChange=${() => toggle(run.id)} />
          <${Sample} style=${style} /><span>${run.name}</span></label>
        ${run.state === "Completed" ? null : html`<i class=${`state ${stateClass(run.state)}`} title=${run.state}></i>`}
      </li>`;
    })}</ul></aside>`;
}
