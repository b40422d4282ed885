// Light, dark, or as the system says; remembered in this browser.
import { useEffect, useState } from "preact/hooks";

const KEY = "seamount-theme";
const ORDER = ["auto", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();
let chosen = ORDER.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "auto";

export function isDark() {
  return chosen === "auto" ? system.matches : chosen === "dark";
}

export function nextTheme() {
  chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
  localStorage.setItem(KEY, chosen);
  apply();
}

export function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const listener of listeners) listener(chosen);
}

export function useTheme() {
  const [, set] = useState(0);
  useEffect(() => {
    const again = () => set((count) => count + 1);
    listeners.add(again);
    return () => listeners.delete(again);
  }, []);
  return { chosen, dark: isDark() };
}

system.addEventListener("change", apply);
