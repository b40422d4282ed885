// A chart in words: for those who do not see it, and as a table of its numbers.
import { count, duration, moment, number } from "../format.js";
import { html } from "../html.js";

const SPOKEN = 6;
const ROWS = 400;
const BAD = { nan: "NaN", inf: "∞", "-inf": "−∞" };

export function xText(chart, x) {
  if (chart.spec.x === "time") return moment(x * 1e6);
  if (chart.spec.x === "relative") return duration(x);
  return number(x);
}

export function summary(chart, metric) {
  if (!chart.lines.length) return `${metric}: no points.`;
  const parts = chart.lines.slice(0, SPOKEN).map((line) => `${line.name}: ${lineWords(line)}`);
  const more = chart.lines.length > SPOKEN ? ` And ${count(chart.lines.length - SPOKEN, "more line")}.` : "";
  return `${metric} over ${chart.x}, ${count(chart.lines.length, "line")}. ${parts.join(". ")}.${more} Arrow keys move the cursor.`;
}

function lineWords(line) {
  const values = line.y.filter((v) => v !== null);
  if (!values.length) return "no finite value";
  const last = values[values.length - 1];
  const trend = last < values[0] ? "falling" : last > values[0] ? "rising" : "level";
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const bad = line.first_bad ? `, first ${BAD[line.first_bad.value]} at step ${number(line.first_bad.step)} of rank ${line.first_bad.rank}` : "";
  return `last ${number(last)}, lowest ${number(low)}, highest ${number(high)}, ${trend}${bad}`;
}

export function badNotes(chart) {
  return chart.lines.filter((line) => line.first_bad).map((line) => {
    const { value, step, rank } = line.first_bad;
    return `${line.name}: first ${BAD[value]} at step ${number(step)}, rank ${rank} (${count(line.bad_points || 1, "point")})`;
  });
}

export function ChartTable({ chart, metric }) {
  return html`<div class="twin" tabindex="0" role="region" aria-label=${`${metric} as a table`}>
    <table><caption class="spoken">${metric} over ${chart.x}</caption>
      <thead><tr><th scope="col">Line</th><th scope="col">Points</th><th scope="col">First</th><th scope="col">Lowest</th><th scope="col">Highest</th><th scope="col">Last</th><th scope="col">At</th></tr></thead>
      <tbody>${chart.lines.map((line) => html`<${LineRow} key=${line.name + line.rank} line=${line} chart=${chart} />`)}</tbody>
    </table>
    <table><thead><tr><th scope="col">${chart.x}</th>${chart.lines.map((l) => html`<th scope="col">${l.name}</th>`)}</tr></thead>
      <tbody>${pointRows(chart).map(([x, values]) => html`<tr key=${x}><th scope="row">${xText(chart, x)}</th>
        ${values.map((v) => html`<td>${v === undefined ? "" : v === null ? "not finite" : number(v)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

function LineRow({ line, chart }) {
  const values = line.y.filter((v) => v !== null);
  const cells = values.length
    ? [values[0], values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b)), values[values.length - 1]]
    : [];
  return html`<tr><th scope="row">${line.name}</th><td>${number(line.points)}</td>${[0, 1, 2, 3].map((n) => html`<td>${cells.length ? number(cells[n]) : "–"}</td>`)}
    <td>${line.x.length ? xText(chart, line.x[line.x.length - 1]) : "–"}</td></tr>`;
}

// The points as drawn, evenly picked where there are many.
function pointRows(chart) {
  const rows = new Map();
  chart.lines.forEach((line, place) => {
    line.x.forEach((x, n) => {
      if (!rows.has(x)) rows.set(x, new Array(chart.lines.length));
      rows.get(x)[place] = line.y[n];
    });
  });
  const all = [...rows].sort((a, b) => a[0] - b[0]);
  const step = Math.ceil(all.length / ROWS);
  return step > 1 ? all.filter((_, n) => n % step === 0 || n === all.length - 1) : all;
}
