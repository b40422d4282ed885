// A chart on the page: asked for when it comes into view, drawn, kept fresh, shown as table as well.
import { get } from "../api.js";
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { number } from "../format.js";
import { Icon } from "../icons.js";
import { throttled, useLive } from "../live.js";
import { useTheme } from "../theme.js";
import { Plot } from "./plot.js";
import { enqueue } from "./queue.js";
import { append, keyOf } from "./series.js";
import { appendable, sectionOf, specOf } from "./spec.js";
import { badNotes, ChartTable, summary, xText } from "./words.js";

const HEIGHT = 236;
const TALL = 460;
const TIP_LINES = 10;

export function Card({ metric, settings, ids, zoom, tall, toggleTall }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const plot = useRef(null);
  const [near, setNear] = useState(false);
  const [chart, setChart] = useState(null);
  const [error, setError] = useState(null);
  const [cursor, setCursor] = useState(null);
  const [asTable, setAsTable] = useState(false);
  const { dark } = useTheme();
  const spec = useMemo(() => specOf(settings, metric, ids), [JSON.stringify(settings), metric, ids.join()]);
  const state = useRef({});
  state.current = { chart, spec, near };

  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setNear(entry.isIntersecting), { rootMargin: "300px 0px" });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const stop = useRef(null);
  const fetchChart = useCallback(async () => {
    stop.current?.abort();
    stop.current = new AbortController();
    const signal = stop.current.signal;
    const width = Math.max(200, Math.round((box.current?.clientWidth ?? 500) - 60));
    const asked = state.current.spec;
    try {
      const found = await enqueue(() => get("chart", { spec: asked, width }, signal), signal);
      setChart({ ...found, asked });
      setError(null);
    } catch (problem) {
      if (problem.name !== "AbortError") setError(problem);
    }
  }, []);
  useEffect(() => {
    if (near && chart?.asked !== spec) fetchChart();
  }, [near, spec]);
  useEffect(() => () => stop.current?.abort(), []);

  const again = useMemo(() => throttled(() => state.current.near && fetchChart(), 2000), []);
  useLive(useCallback((kind, event) => {
    const { chart: shown, spec: asked } = state.current;
    if (!shown || kind === "hello") return;
    const mine = event.points?.filter((each) => each.metric === metric) ?? [];
    const restarted = event.again?.some((id) => asked.runs.ids.includes(id));
    if (kind === "change" && !mine.length && !restarted) return;
    const next = { ...shown, lines: shown.lines.map((line) => ({ ...line })) };
    if (kind === "change" && !restarted && appendable(asked) && append(next, mine, metric)) setChart(next);
    else if (state.current.near) again();
    else setChart({ ...shown, asked: null }); // asked for anew when it comes into view
  }, [metric]));

  const drawn = near && chart && chart.lines.length > 0 && !asTable;
  useLayoutEffect(() => {
    if (!drawn) return undefined;
    const made = new Plot(canvas.current, { onZoom: zoom, onCursor: setCursor, height: tall ? TALL : HEIGHT });
    plot.current = made;
    const sizes = new ResizeObserver(() => made.resize());
    sizes.observe(canvas.current);
    return () => (sizes.disconnect(), made.destroy(), (plot.current = null));
  }, [Boolean(drawn), dark, tall]);
  useLayoutEffect(() => {
    if (drawn) plot.current.draw(chart, ids);
  }, [Boolean(drawn), chart, dark, tall, ids.join()]);

  const key = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 25, PageUp: -25, Home: -1e9, End: 1e9 }[event.key];
    if (event.target !== event.currentTarget) return;
    if (by !== undefined) plot.current?.step(by);
    else if (event.key === "Escape") zoom(null);
    else return;
    event.preventDefault();
  };
  const bad = chart ? badNotes(chart) : [];
  const section = sectionOf(metric);
  return html`<figure class=${`card ${tall ? "tall" : ""}`} ref=${box}>
    <figcaption><h3 title=${metric}>${section ? metric.slice(section.length + 1) : metric}</h3>
      ${bad.length ? html`<span class="badge" title=${bad.join("\n")}>▼ ${bad.length === 1 ? bad[0].replace(/^.*: first/, "first") : `not finite in ${bad.length} lines`}</span>` : null}
      <span class="room"></span>
      <button class="icon plain" aria-pressed=${asTable} title="View as table" aria-label=${`${metric}: view as table`} onClick=${() => setAsTable(!asTable)}><${Icon} name="table" /></button>
      <button class="icon plain" aria-pressed=${tall} title="Larger" aria-label=${`${metric}: larger`} onClick=${toggleTall}><${Icon} name="expand" /></button>
    </figcaption>
    ${error
      ? html`<div class="blank"><span class="error">${error.message}</span></div>`
      : !chart
        ? html`<div class="blank waiting"></div>`
        : !chart.lines.length
          ? html`<div class="blank">No points of ${metric} in these runs.</div>`
          : asTable
            ? html`<${ChartTable} chart=${chart} metric=${metric} />`
            : html`<div class="plot" ref=${canvas} tabindex="0" role="img" aria-label=${summary(chart, metric)} onKeyDown=${key}
                style=${{ height: `${tall ? TALL : HEIGHT}px` }}></div>
              ${cursor ? html`<${Tip} chart=${chart} cursor=${cursor} styles=${plot.current?.layers.styles ?? []} width=${canvas.current?.clientWidth ?? 400} />` : null}`}
    ${chart && needsLegend(chart, ids) && !asTable ? html`<${Legend} chart=${chart} plot=${plot.current} />` : null}
    ${chart?.notes.length ? html`<p class="note">${chart.notes.join("; ")}</p>` : null}
  </figure>`;
}

function needsLegend(chart, ids) {
  return chart.lines.some((line) => line.group || !ids.includes(line.run_id)) || chart.lines.length > new Set(chart.lines.map(keyOf)).size;
}

function Legend({ chart, plot }) {
  const styles = plot?.layers.styles ?? [];
  return html`<ul class="legend">${chart.lines.slice(0, 24).map((line, place) => html`<li key=${place} class=${line.straggler ? "straggler" : ""}>
    <${Sample} style=${styles[place]} />${line.name}${line.straggler ? html`<em>straggler</em>` : null}</li>`)}</ul>`;
}

export function Sample({ style }) {
  if (!style) return html`<svg class="sample" width="22" height="10" aria-hidden="true"></svg>`;
  return html`<svg class="sample" width="22" height="10" aria-hidden="true"><line x1="1" y1="5" x2="21" y2="5" stroke=${style.colour}
    stroke-width="2.2" stroke-dasharray=${style.dash.join(" ")} /></svg>`;
}

function Tip({ chart, cursor, styles, width }) {
  const shown = cursor.values.slice(0, TIP_LINES);
  const right = cursor.left > width / 2;
  const style = right ? { right: `${width - cursor.left - 30}px` } : { left: `${cursor.left + 76}px` };
  return html`<div class="tip" style=${style} role="status"><b>${chart.x} ${xText(chart, cursor.x)}</b>
    ${shown.map((each) => html`<div key=${each.line}><${Sample} style=${styles[each.line]} /><span>${chart.lines[each.line].name}</span>
      <strong>${each.value === null ? "not finite" : number(each.value)}</strong></div>`)}
    ${cursor.values.length > TIP_LINES ? html`<small>${cursor.values.length - TIP_LINES} more</small>` : null}</div>`;
}
