// Which line a pointer or a key is at, told to all charts and to the list of runs.
const listeners = new Set();
let current = null;

export function highlight(key) {
  if (key === current) return;
  current = key;
  for (const listener of listeners) listener(key);
}

export function highlighted() {
  return current;
}

export function onHighlight(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
