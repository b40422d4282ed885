// A chart's lines as uPlot wants them: one ascending x, and for each line what to draw over it.
import uPlot from "uplot";
import { isDark } from "../theme.js";
import { colourOfRun, dashOfRun } from "./palette.js";

export function keyOf(line) {
  return line.group ? JSON.stringify(line.group) : line.run_id;
}

// Colour and dash of each line: by run as in the list beside; by turn where lines are not runs.
export function stylesOf(lines, ids) {
  const turns = new Map();
  const alone = new Set(lines.map((line) => line.run_id)).size === 1 && lines.length > 1;
  return lines.map((line, place) => {
    const byTurn = line.group || alone || !ids.includes(line.run_id);
    const at = byTurn ? place : ids.indexOf(line.run_id);
    const turn = turns.get(at) ?? 0;
    turns.set(at, turn + 1);
    const dash = turn ? dashOfRun(8 * turn) : dashOfRun(at);
    return { colour: colourOfRun(at), dash, width: line.baseline ? 2.4 : line.straggler ? 2.2 : 1.5 };
  });
}

export function layersOf(chart, ids) {
  const styles = stylesOf(chart.lines, ids);
  const tables = [];
  const series = [{}];
  const bands = [];
  const add = (x, y, options) => {
    tables.push([x, y]);
    series.push({ ...options, points: { show: (u, at) => isolated(u, at) }, spanGaps: false });
    return series.length - 1;
  };
  // What lies behind comes first: bands, then raw lines, then the lines themselves.
  chart.lines.forEach((line, place) => {
    if (!line.low) return;
    const faint = { stroke: "transparent", width: 0, role: "band", points: { show: false } };
    const low = add(line.x, line.low, faint);
    const high = add(line.x, line.high, faint);
    bands.push({ series: [high, low], fill: withAlpha(styles[place].colour, isDark() ? 0.2 : 0.15) });
  });
  chart.lines.forEach((line, place) => {
    if (line.raw) add(line.raw.x, line.raw.y, { stroke: withAlpha(styles[place].colour, 0.25), width: 1, role: "raw", key: keyOf(line) });
  });
  const places = chart.lines.map((line, place) =>
    add(line.x, line.y, {
      label: line.name, stroke: styles[place].colour, width: styles[place].width, dash: styles[place].dash,
      role: "line", line: place, key: keyOf(line),
    }),
  );
  return { data: joined(tables), series, bands, places, styles };
}

function joined(tables) {
  if (!tables.length) return [[]];
  const same = tables.every(([x]) => x.length === tables[0][0].length && x.every((v, i) => v === tables[0][0][i]));
  return same ? [tables[0][0], ...tables.map(([, y]) => y)] : uPlot.join(tables);
}

// Single points between gaps, and lines of few points, are shown as points.
function isolated(u, at) {
  const values = u.data[at];
  let seen = 0;
  for (let n = 0; n < values.length && seen <= 1; n += 1) if (values[n] != null) seen += 1;
  return seen === 1;
}

export function withAlpha(colour, alpha) {
  return colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
}

export function scalesOf(chart) {
  const spec = chart.spec;
  const scale = (kind, threshold) =>
    kind === "log" ? { distr: 3, log: 10 } : kind === "symlog" ? { distr: 4, asinh: threshold || 1 } : {};
  const x = { time: spec.x === "time", ...scale(spec.x_scale, chart.x_threshold) };
  if (spec.x_range) x.range = () => spec.x_range;
  const y = scale(spec.y_scale, chart.y_threshold);
  if (spec.y_range) y.range = () => spec.y_range;
  return { x, y };
}

// New points of a run's metric behind those of its lines; false where they do not fit there.
export function append(chart, news, metric) {
  const time = chart.spec.x === "time";
  for (const each of news) {
    if (each.metric !== metric) continue;
    const line = chart.lines.find((l) => l.run_id === each.run_id && (l.rank ?? 0) === each.rank);
    if (!line) {
      if (chart.spec.ranks === "first" && chart.lines.some((l) => l.run_id === each.run_id)) continue;
      return false;
    }
    const xs = time ? each.times : each.steps;
    if (line.x.length && xs[0] <= line.x[line.x.length - 1]) return false;
    for (let n = 1; n < xs.length; n += 1) if (xs[n] < xs[n - 1]) return false;
    if (chart.spec.x_scale === "log" && xs[0] <= 0) return false;
    line.x = [...line.x, ...xs];
    line.y = [...line.y, ...each.values.map((v) => (typeof v === "number" ? v : null))];
    line.points += each.points;
    each.values.forEach((v, n) => {
      if (typeof v !== "number") markBad(line, { run_id: each.run_id, rank: each.rank, step: each.steps[n], x: xs[n], value: v });
    });
  }
  return true;
}

function markBad(line, bad) {
  line.bad = [...line.bad, bad];
  line.bad_points += 1;
  line.first_bad ??= bad;
}
