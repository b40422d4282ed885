// The whole state of the page: a ViewSpec (spec.py), kept in the address, nowhere else.
import { useEffect, useState } from "preact/hooks";

const VERSION = "1.";
const listeners = new Set();
let view = {};
let written = 0;

export function current() {
  return view;
}

// Change the state; a step that a person would want to go back over makes a history entry.
export function change(part, { replace = false } = {}) {
  view = prune({ ...view, ...(typeof part === "function" ? part(view) : part) });
  for (const listener of listeners) listener(view);
  const mine = ++written;
  pack(view).then((text) => {
    if (mine !== written) return; // a later change is on its way
    const url = new URL(location.href);
    if (text) url.searchParams.set("view", text);
    else url.searchParams.delete("view");
    history[replace ? "replaceState" : "pushState"](null, "", url);
  });
}

export function changeTable(part, options) {
  change((old) => ({ table: prune({ ...old.table, ...part }) }), options);
}

export function changeOptions(part, options) {
  change((old) => ({ options: prune({ ...old.options, ...part }) }), options);
}

export function useView() {
  const [value, set] = useState(view);
  useEffect(() => {
    listeners.add(set);
    set(view);
    return () => listeners.delete(set);
  }, []);
  return value;
}

export async function start() {
  view = await read();
  addEventListener("popstate", async () => {
    view = await read();
    for (const listener of listeners) listener(view);
  });
}

async function read() {
  const text = new URLSearchParams(location.search).get("view");
  if (!text) return {};
  try {
    return JSON.parse(text.startsWith("{") ? text : await unpack(text));
  } catch {
    return { broken: true };
  }
}

// Only what is set travels: empty texts, lists and absent values are the defaults.
export function prune(value) {
  const kept = Object.entries(value ?? {}).filter(
    ([, v]) => v !== undefined && v !== null && v !== "" && v !== false && !isEmpty(v),
  );
  return Object.fromEntries(kept);
}

function isEmpty(value) {
  return typeof value === "object" && Object.keys(value).length === 0;
}

async function pack(value) {
  if (isEmpty(value)) return "";
  const stream = new Blob([JSON.stringify(value)]).stream();
  const bytes = await bytesOf(stream.pipeThrough(new CompressionStream("deflate-raw")));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return VERSION + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

async function unpack(text) {
  if (!text.startsWith(VERSION)) throw new Error("another form");
  const plain = atob(text.slice(VERSION.length).replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(plain, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new TextDecoder().decode(await bytesOf(stream));
}

async function bytesOf(stream) {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
