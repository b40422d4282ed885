// Values as people read them.
const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 5, useGrouping: false });
const WHOLE = new Intl.NumberFormat("en");

export function number(value) {
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return WHOLE.format(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) {
    return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return PLAIN.format(value);
}

export function count(value, noun) {
  return `${WHOLE.format(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (bytes >= 1024 && place < units.length - 1) {
    bytes /= 1024;
    place += 1;
  }
  return `${place ? bytes.toFixed(1) : bytes} ${units[place]}`;
}

export function ago(microseconds) {
  const seconds = Date.now() / 1000 - microseconds / 1e6;
  if (seconds < 45) return "now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 7 * 86400) return `${Math.round(seconds / 86400)} d ago`;
  return new Date(microseconds / 1000).toISOString().slice(0, 10);
}

export function moment(microseconds) {
  return new Date(microseconds / 1000).toISOString().replace("T", " ").slice(0, 19) + "Z";
}

// A cell of the table: [what is shown, what a pointer at rest shows].
export function cell(value, type) {
  if (value === null || value === undefined) return ["–", "no value"];
  if (type === "time") return [ago(value), moment(value)];
  if (type === "duration") return [duration(value), `${value} s`];
  if (type === "size") return [size(value), `${value} bytes`];
  if (typeof value === "number") return [number(value), String(value)];
  return [String(value), String(value)];
}

// What a column is called: `config.lr` as `lr` with its kind beside it.
export function columnTitle(name) {
  const match = /^(config|tag|file)\.(.*)$/s.exec(name) ?? /^(\w+)\((.*)\)$/s.exec(name);
  const plain = (text) => (text.startsWith("`") ? text.slice(1, -1).replace(/``/g, "`") : text);
  if (match) return { kind: match[1], name: plain(match[2]) };
  return { kind: "", name: name.charAt(0).toUpperCase() + name.slice(1).replace("_", " ") };
}
