// What the charts of a view show: the first ChartSpec of the view, over its chosen runs.
import { change, prune } from "../state.js";

export const SHOWN = 20;

export function settingsOf(view) {
  return { metrics: "", ...view.charts?.[0] };
}

export function changeSettings(part, options) {
  change((old) => {
    const next = prune({ ...settingsOf(old), ...part });
    const bare = Object.keys(next).length === 0;
    return { charts: bare ? null : [{ metrics: "", ...next }, ...(old.charts ?? []).slice(1)] };
  }, options);
}

// One chart: of one metric, by its very name.
export function specOf(settings, metric, ids) {
  return { ...settings, metrics: exactly(metric), runs: { ids } };
}

// An extended regex that matches this name alone; what might be an operator is written by number.
export function exactly(name) {
  const escaped = Array.from(name, (c) =>
    /[\p{L}\p{N}_/]/u.test(c) ? c : `\\x{${c.codePointAt(0).toString(16)}}`,
  );
  return `^${escaped.join("")}$`;
}

// Whether new points can be put behind the old ones as they come.
export function appendable(settings) {
  const smoothed = settings.smoothing && settings.smoothing.kind !== "none";
  const x = settings.x ?? "step";
  return !smoothed && !settings.group_by?.length && settings.ranks !== "mean"
    && !settings.x_range && (x === "step" || x === "time");
}

export function sectionOf(metric) {
  const slash = metric.lastIndexOf("/");
  return slash > 0 ? metric.slice(0, slash) : "";
}
