// Colours that people who see them differently can tell apart, and dashes for when they run out.
import { isDark } from "../theme.js";

// Okabe & Ito's set, lightness fitted to a light and a dark ground.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b5559a", "#a07800", "#3aa0dd", "#7a4fbf", "#5f6b76"];
const DARK = ["#4da6e8", "#ff8f45", "#2fc69a", "#e48cc8", "#e0b83d", "#8ad0ff", "#b79bf2", "#aab6c1"];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [14, 4]];

export function colourOfRun(place) {
  const colours = isDark() ? DARK : LIGHT;
  return colours[Math.max(0, place) % colours.length];
}

export function dashOfRun(place) {
  return DASHES[Math.floor(Math.max(0, place) / LIGHT.length) % DASHES.length];
}
