// Charts of the runs that the table shows: a chart a metric, in sections by the names' beginnings.
import { get } from "../api.js";
import { FilterBar } from "../filter_bar.js";
import { html, useCallback, useEffect, useMemo, useState } from "../html.js";
import { Icon } from "../icons.js";
import { throttled, useLive, watch } from "../live.js";
import { change } from "../state.js";
import { Card } from "./card.js";
import { Controls } from "./controls.js";
import { RunPanel } from "./panel.js";
import { changeSettings, sectionOf, settingsOf, SHOWN } from "./spec.js";

const LISTED = 200;

export default function ChartsView({ view }) {
  const table = view.table ?? {};
  const settings = settingsOf(view);
  const list = useRuns(table);
  const chosen = view.runs ?? [];
  const listed = list.info?.rows ?? [];
  const ids = chosen.length ? chosen : listed.slice(0, SHOWN).map((run) => run.id);
  const names = useMetrics(settings.metrics, ids);
  const [tall, setTall] = useState(null);
  const spec = useMemo(() => ({ metrics: settings.metrics, runs: { ids } }), [settings.metrics, ids.join()]);
  useEffect(() => watch(ids.length ? spec : null), [spec]);

  const toggle = (id) => change({ runs: ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id] });
  const zoom = useCallback((range) => changeSettings({ x_range: range }), []);
  const sections = useMemo(() => bySection(names.found), [names.found]);
  const configs = [...(list.info?.columns ?? []).filter((name) => /^(config|tag)\./.test(name)), "name", "project"];
  const chart = { settings, ids, zoom };
  return html`<${FilterBar} table=${table} mistake=${list.error} projects=${list.info?.projects} />
    <div class="bar">
      <${MetricBox} settings=${settings} error=${names.error} />
      <${Controls} settings=${settings} configs=${configs} metrics=${names.every} />
      ${settings.x_range ? html`<button onClick=${() => zoom(null)}><${Icon} name="reset" />Whole range</button>` : null}
      <span class="room"></span>
    </div>
    <div class="charts">
      <${RunPanel} runs=${withChosen(listed, chosen, list.info)} drawn=${ids} grouped=${Boolean(settings.group_by?.length)} chosen=${chosen} total=${list.info?.total ?? 0} toggle=${toggle} clear=${() => change({ runs: null })} />
      <div class="sections" tabindex="-1">
        ${list.info && !ids.length
          ? html`<div class="message"><h2>No run to draw</h2><p>The filter leaves none: change it, or choose runs in the table.</p></div>`
          : names.found && !names.found.length
            ? html`<div class="message"><h2>No metric matches</h2><p>${settings.metrics ? "No metric of these runs matches the pattern above." : "These runs have logged no metrics yet; they appear here as they come."}</p></div>`
            : null}
        ${sections.map(([title, metrics]) => html`<${Section} key=${title} title=${title} count=${metrics.length}>
          ${metrics.map((metric) => html`<${Card} key=${metric} metric=${metric} ...${chart} tall=${tall === metric} toggleTall=${() => setTall(tall === metric ? null : metric)} />`)}
        </${Section}>`)}
      </div>
    </div>`;
}

function Section({ title, count, children }) {
  const [open, set] = useState(true);
  return html`<section class="section"><h2><button class="plain" aria-expanded=${open} onClick=${() => set(!open)}>
      <${Icon} name=${open ? "down" : "right"} />${title || "Metrics"}<span class="tally">${count}</span></button></h2>
    ${open ? html`<div class="cards">${children}</div>` : null}</section>`;
}

function MetricBox({ settings, error }) {
  const [text, set] = useState(settings.metrics);
  useEffect(() => set(settings.metrics), [settings.metrics]);
  useEffect(() => {
    const timer = setTimeout(() => text !== settings.metrics && changeSettings({ metrics: text }, { replace: true }), 350);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<span class="filter search"><${Icon} name="search" /><input type="text" value=${text} spellcheck="false" aria-label="Metrics, an extended regex"
      placeholder="Metrics: ^val/ | grad & !lr" aria-invalid=${Boolean(error)} title=${error?.message ?? ""} onInput=${(e) => set(e.target.value)} /></span>
    ${error ? html`<p class="mistake" role="alert">${error.message}</p>` : null}`;
}

function useRuns(table) {
  const [state, set] = useState({ info: null, error: null });
  const [turn, next] = useState(0);
  const key = JSON.stringify({ ...table, columns: null, pinned_columns: null, group_by: null });
  useEffect(() => {
    const stop = new AbortController();
    get("runs", { spec: { ...table, columns: undefined, group_by: undefined }, limit: LISTED }, stop.signal).then(
      (info) => set({ info, error: null }),
      (error) => error.name !== "AbortError" && set((old) => ({ info: old.info, error })),
    );
    return () => stop.abort();
  }, [key, turn]);
  useLive(useCallback(throttled(() => next((n) => n + 1), 2000), []));
  return state;
}

function useMetrics(metrics, ids) {
  const [state, set] = useState({ found: null, every: [], error: null });
  const [turn, next] = useState(0);
  useEffect(() => {
    if (!ids.length) return undefined;
    const stop = new AbortController();
    const ask = (pattern) => get("metrics", { spec: { metrics: pattern, runs: { ids } } }, stop.signal);
    Promise.all([ask(metrics), metrics ? ask("") : null]).then(
      ([mine, all]) => set((old) => ({ found: same(old.found, mine.names), every: (all ?? mine).names.filter((n) => !n.startsWith("system/")), error: null })),
      (error) => error.name !== "AbortError" && set((old) => ({ ...old, error })),
    );
    return () => stop.abort();
  }, [metrics, ids.join(), turn]);
  useLive(useCallback(throttled(() => next((n) => n + 1), 5000), []));
  return state;
}

function same(before, now) {
  return before && before.join("\n") === now.join("\n") ? before : now;
}

function withChosen(listed, chosen, info) {
  const known = new Set(listed.map((run) => run.id));
  const far = chosen.filter((id) => !known.has(id)).map((id) => ({ id, name: id, project: "", state: "" }));
  return info ? [...far, ...listed] : listed;
}

// [section, its metrics]: those of the machine last.
function bySection(names) {
  const found = new Map();
  for (const name of names ?? []) {
    const section = sectionOf(name);
    found.set(section, [...(found.get(section) ?? []), name]);
  }
  const last = (title) => (title.startsWith("system") ? 1 : 0);
  return [...found].sort((a, b) => last(a[0]) - last(b[0]) || a[0].localeCompare(b[0]));
}
