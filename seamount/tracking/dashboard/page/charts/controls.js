// How the charts are drawn: axis, scales, smoothing, groups, ranks; all of it in the address.
import { columnTitle } from "../format.js";
import { html } from "../html.js";
import { Popover } from "../popover.js";
import { changeSettings } from "./spec.js";

const SCALES = ["linear", "log", "symlog"];
const SMOOTH = { none: "None", ema: "Exponential", time_ema: "Exponential by time", mean: "Mean", median: "Median" };

export function Controls({ settings, configs, metrics }) {
  return html`<${AxisPicker} settings=${settings} metrics=${metrics} />
    <${Smoothing} settings=${settings} />
    <${Groups} settings=${settings} configs=${configs} />
    <label class="field">Ranks <select value=${settings.ranks ?? "first"} onChange=${(e) => changeSettings({ ranks: unless(e, "first") })}>
      <option value="first">first</option><option value="strands">all, as strands</option><option value="mean">mean</option></select></label>`;
}

function unless(event, usual) {
  return event.target.value === usual ? null : event.target.value;
}

function Select({ name, value, options, usual, change }) {
  return html`<select id=${name} value=${value ?? usual} onChange=${(e) => change(unless(e, usual))}>
    ${options.map(([key, says]) => html`<option key=${key} value=${key}>${says}</option>`)}</select>`;
}

function AxisPicker({ settings, metrics }) {
  const x = settings.x ?? "step";
  const axes = [["step", "Step"], ["relative", "Time since the start"], ["time", "Wall time"], ...metrics.map((m) => [`metric:${m}`, m])];
  if (!axes.some(([key]) => key === x)) axes.push([x, x]);
  const scales = SCALES.map((each) => [each, each]);
  const label = x.startsWith("metric:") ? x.slice(7) : { step: "step", relative: "relative time", time: "wall time" }[x];
  return html`<${Popover} icon="settings" label=${`x: ${label}`} title="Axes">
    <div class="form">
      <label for="x">x axis</label><${Select} name="x" value=${settings.x} usual="step" options=${axes} change=${(v) => changeSettings({ x: v, x_range: null })} />
      <label for="x_scale">x scale</label><${Select} name="x_scale" value=${settings.x_scale} usual="linear" options=${scales} change=${(v) => changeSettings({ x_scale: v, x_range: null })} />
      <label for="y_scale">y scale</label><${Select} name="y_scale" value=${settings.y_scale} usual="linear" options=${scales} change=${(v) => changeSettings({ y_scale: v })} />
    </div></${Popover}>`;
}

function Smoothing({ settings }) {
  const now = { kind: "none", weight: 0.9, window: 11, half_life: 60, ...settings.smoothing };
  const set = (part) => {
    const { kind, weight, window, half_life } = { ...now, ...part };
    const own = { ema: { weight }, time_ema: { half_life }, mean: { window }, median: { window } }[kind];
    changeSettings({ smoothing: kind === "none" ? null : { kind, ...own } }, { replace: !part.kind });
  };
  return html`<${Popover} label=${`Smoothing: ${now.kind === "none" ? "none" : SMOOTH[now.kind].toLowerCase()}`} title="Smoothing">
    <div class="form">
      <label for="kind">Kind</label><select id="kind" value=${now.kind} onChange=${(e) => set({ kind: e.target.value })}>
        ${Object.entries(SMOOTH).map(([key, says]) => html`<option key=${key} value=${key}>${says}</option>`)}</select>
      ${now.kind === "ema" ? html`<label for="weight">Weight ${now.weight}</label><input id="weight" type="range" min="0" max="0.999" step="0.001" value=${now.weight} onChange=${(e) => set({ weight: Number(e.target.value) })} />` : null}
      ${now.kind === "time_ema" ? html`<label for="half_life">Half-life, s</label><input id="half_life" type="number" min="0.001" step="any" value=${now.half_life} onChange=${(e) => Number(e.target.value) > 0 && set({ half_life: Number(e.target.value) })} />` : null}
      ${now.kind === "mean" || now.kind === "median" ? html`<label for="window">Points</label><input id="window" type="number" min="1" max="1000000" value=${now.window} onChange=${(e) => Number(e.target.value) >= 1 && set({ window: Math.round(Number(e.target.value)) })} />` : null}
    </div>
    <p class="note">The line as logged stays behind it.</p></${Popover}>`;
}

function Groups({ settings, configs }) {
  const groups = settings.group_by ?? [];
  const offers = [...new Set([...groups, ...configs])];
  const toggle = (name) => {
    const next = groups.includes(name) ? groups.filter((g) => g !== name) : [...groups, name];
    changeSettings({ group_by: next, band: next.length ? (settings.band ?? "minmax") : null });
  };
  return html`<${Popover} icon="group" label="Group" tally=${groups.length || null} title="Mean over groups" kind="chooser">
    <label class="field">Band <select value=${settings.band ?? "none"} onChange=${(e) => changeSettings({ band: unless(e, "none") })}>
      <option value="none">none</option><option value="minmax">lowest to highest</option><option value="std">standard deviation</option></select></label>
    <div class="list" role="group" aria-label="Group by">
      ${offers.map((name) => html`<label key=${name}><input type="checkbox" checked=${groups.includes(name)} onChange=${() => toggle(name)} />
        <span>${columnTitle(name).name} <span class="note">${columnTitle(name).kind}</span></span></label>`)}
    </div></${Popover}>`;
}
