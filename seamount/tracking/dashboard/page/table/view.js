// The runs table: any attribute as a column, filtered, sorted, grouped, pinned; the address has it all.
import { colourOfRun } from "../charts/palette.js";
import { FilterBar } from "../filter_bar.js";
import { columnTitle, count } from "../format.js";
import { html, useCallback, useEffect, useRef, useState } from "../html.js";
import { Icon } from "../icons.js";
import { throttled, useLive, watch } from "../live.js";
import { Popover } from "../popover.js";
import { change, changeTable } from "../state.js";
import { useTheme } from "../theme.js";
import { VIEWS } from "../views.js";
import { ColumnChooser } from "./chooser.js";
import { Grid } from "./grid.js";
import { Rows } from "./rows.js";

export default function TableView({ view }) {
  const table = view.table ?? {};
  const [, draw] = useState(0);
  const kept = useRef(null);
  const rows = (kept.current ??= new Rows(() => draw((n) => n + 1)));
  const [open, setOpen] = useState(new Set());
  useTheme();
  useEffect(() => watch(null), []);
  useEffect(() => rows.show(table), [JSON.stringify(table)]);
  useLive(useCallback(throttled(() => rows.again(), 1000), []));

  const columns = table.columns ?? rows.info?.suggested ?? [];
  const ids = view.runs ?? [];
  const chosen = new Set(ids);
  const toggle = (id) => change({ runs: chosen.has(id) ? ids.filter((each) => each !== id) : [...ids, id] });
  const pins = table.pinned_runs ?? [];
  const pin = (id) => changeTable({ pinned_runs: pins.includes(id) ? pins.filter((each) => each !== id) : [...pins, id] });
  const fold = (key) => setOpen((old) => {
    const next = new Set(old);
    if (!next.delete(key)) next.add(key);
    return next;
  });
  const openRun = VIEWS.some((each) => each.name === "run") ? (id) => change({ page: "run", run: id }) : null;
  const info = rows.info;

  return html`<${FilterBar} table=${table} mistake=${rows.error} projects=${info?.projects}>
      <span class="room"></span>
      <span class="total" role="status">${info ? (info.total === info.all ? count(info.total, "run") : `${info.total.toLocaleString("en")} of ${count(info.all, "run")}`) : ""}</span>
      <${GroupPicker} table=${table} columns=${columns} />
      <${ColumnChooser} table=${table} columns=${columns} />
    </${FilterBar}>
    ${ids.length ? html`<${Selection} ids=${ids} pins=${pins} />` : null}
    ${info && !info.total && !pins.length
      ? html`<${Nothing} all=${info.all} />`
      : info
        ? html`<${Grid} rows=${rows} table=${table} columns=${columns} chosen=${chosen} toggle=${toggle} pin=${pin}
            colourOf=${(id) => (chosen.has(id) ? colourOfRun(ids.indexOf(id)) : null)} openRun=${openRun} open=${open} fold=${fold} />`
        : rows.error ? null : html`<p class="starting">Loading runs…</p>`}`;
}

function Selection({ ids, pins }) {
  const all = ids.every((id) => pins.includes(id));
  return html`<div class="selection" role="toolbar" aria-label="Chosen runs"><strong>${count(ids.length, "run")} chosen</strong>
    <button class="primary" onClick=${() => change({ page: "charts" })}><${Icon} name="chart" />Charts</button>
    <button onClick=${() => changeTable({ pinned_runs: all ? pins.filter((id) => !ids.includes(id)) : [...new Set([...pins, ...ids])] })}>
      <${Icon} name="pin" />${all ? "Unpin" : "Pin"}</button>
    <button class="plain" onClick=${() => change({ runs: null })}>Choose none</button></div>`;
}

function GroupPicker({ table, columns }) {
  const groups = table.group_by ?? [];
  const offers = [...new Set([...groups, ...columns.filter((name) => /^(config|tag)\./.test(name)), "project", "state", "name"])];
  const toggle = (name) => changeTable({ group_by: groups.includes(name) ? groups.filter((g) => g !== name) : [...groups, name] });
  return html`<${Popover} icon="group" label="Group" tally=${groups.length || null} title="Group by" kind="chooser" side="right">
    <div class="list" role="group" aria-label="Group by">
      ${offers.map((name) => html`<label key=${name}><input type="checkbox" checked=${groups.includes(name)} onChange=${() => toggle(name)} />
        <span>${columnTitle(name).name} <span class="note">${columnTitle(name).kind}</span></span></label>`)}
    </div></${Popover}>`;
}

function Nothing({ all }) {
  if (all) {
    return html`<div class="message"><h2>No run matches</h2><p>${count(all, "run")} are here; the filter, search or project leaves none of them.</p>
      <button onClick=${() => changeTable({ where: null, search: null, project: null })}>Show all runs</button></div>`;
  }
  return html`<div class="message"><h2>No runs yet</h2><p>Log one into this store, and it appears here by itself:</p>
    <pre>${`from seamount.tracking import Run

with Run(project="demo", name="first") as run:
    run.log_configs({"lr": 0.1})
    for step in range(100):
        run.log_metrics({"loss": 1 / (step + 1)}, step=step)`}</pre></div>`;
}
