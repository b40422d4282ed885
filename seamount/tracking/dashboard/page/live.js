// What changes in the store while the page is open: one stream of server-sent events.
// The browser comes again by itself with the last event's id, so that nothing is missed.
import { useEffect, useState } from "preact/hooks";
import { address } from "./api.js";

const listeners = new Set();
const watchers = new Set();
let source = null;
let spec = null;
let state = "idle";
let cursor = null;

function tell(next) {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher(next);
}

// Watch the points of these metrics and runs (a ChartSpec); null: only which runs changed.
export function watch(next) {
  const text = JSON.stringify(next);
  if (text === JSON.stringify(spec) && source) return;
  spec = next;
  connect();
}

function connect() {
  source?.close();
  source = new EventSource(address("live", { spec }));
  source.addEventListener("open", () => tell("on"));
  source.addEventListener("error", () => {
    tell("off");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  });
  for (const kind of ["hello", "change", "reset"]) {
    source.addEventListener(kind, (event) => {
      tell("on");
      cursor = event.lastEventId;
      const value = JSON.parse(event.data);
      for (const listener of listeners) listener(kind, value);
    });
  }
  source.addEventListener("refused", () => {
    source.close();
    tell("off");
  });
}

export function lastCursor() {
  return cursor;
}

// Call `heard(kind, event)` for each event while the component is there.
export function useLive(heard) {
  useEffect(() => {
    listeners.add(heard);
    if (!source) connect();
    return () => listeners.delete(heard);
  }, [heard]);
}

export function useLiveState() {
  const [value, set] = useState(state);
  useEffect(() => {
    watchers.add(set);
    set(state);
    return () => watchers.delete(set);
  }, []);
  return value;
}

// `wanted` at most once in `pause` ms, the last call always.
export function throttled(wanted, pause) {
  let timer = null;
  let last = 0;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      last = Date.now();
      wanted();
    }, Math.max(0, last + pause - Date.now()));
  };
}
