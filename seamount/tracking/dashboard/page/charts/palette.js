// Colours and dashes of lines, the same as in pictures: dashboard/plot/palette.json.
import { isDark } from "../theme.js";

let palette = { light: { series: ["#0072b2"] }, dark: { series: ["#56b4e9"] }, dashes: [[]] };

export async function loadPalette() {
  palette = await (await fetch("/static/palette.json")).json();
}

export function colours() {
  return palette[isDark() ? "dark" : "light"];
}

export function colourOfRun(place) {
  const { series } = colours();
  return series[Math.max(0, place) % series.length];
}

export function dashOfRun(place) {
  return palette.dashes[Math.floor(Math.max(0, place) / palette.light.series.length) % palette.dashes.length];
}
