// One uPlot chart in an element: axes, marks of non-finite points, zoom, hover, keys.
import uPlot from "uplot";
import { duration, number } from "../format.js";
import { highlight, highlighted, onHighlight } from "./hover.js";
import { layersOf, scalesOf, withAlpha } from "./series.js";

const FAR = 0.22; // how much of a line is seen beside the highlighted one
const NEAR_PX = 30;

export class Plot {
  constructor(node, { onZoom, onCursor, height }) {
    this.node = node;
    this.onZoom = onZoom;
    this.onCursor = onCursor;
    this.height = height;
    this.off = onHighlight((key) => this.focus(key));
    node.addEventListener("pointerleave", () => highlight(null));
  }

  draw(chart, ids) {
    const layers = layersOf(chart, ids);
    this.chart = chart;
    const shape = JSON.stringify([layers.series, chart.spec, layers.bands]);
    if (this.u && shape === this.shape) {
      this.layers = layers;
      this.u.setData(layers.data);
      return;
    }
    this.shape = shape;
    this.layers = layers;
    this.u?.destroy();
    this.u = new uPlot(this.options(chart, layers), layers.data, this.node);
    this.focus(highlighted());
  }

  options(chart, layers) {
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(name).trim();
    const axis = {
      stroke: colour("--muted"), font: "11px system-ui, sans-serif",
      grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1, size: 4 },
    };
    const relative = chart.spec.x === "relative";
    const short = (u, values) => values.map((v) => (v === null ? "" : relative ? duration(v) : compact(v)));
    return {
      width: Math.max(120, this.node.clientWidth), height: this.height,
      padding: [12, 12, 0, 0], legend: { show: false },
      scales: scalesOf(chart),
      axes: [
        { ...axis, size: 30, gap: 4, space: 56, ...(chart.spec.x === "time" ? {} : { values: short }) },
        { ...axis, size: axisSize, gap: 5, space: 32, values: (u, values) => values.map((v) => (v === null ? "" : compact(v))) },
      ],
      series: layers.series, bands: layers.bands,
      focus: { alpha: FAR },
      cursor: {
        drag: { x: true, y: false, setScale: false }, points: { size: 7, width: 1.5 }, focus: { prox: NEAR_PX, dist: (u, at, idx, value, here) => (u.series[at].role === "line" ? value - here : Infinity) },
        sync: { key: `charts-${chart.x}`, scales: ["x", null] },
        bind: { dblclick: () => () => (this.onZoom(null), null) },
      },
      hooks: {
        draw: [(u) => this.marks(u, colour("--bad"))],
        setSelect: [(u) => this.zoomed(u)],
        setCursor: [(u) => this.moved(u)],
        setSeries: [(u, at, options) => this.near(u, at, options)],
      },
    };
  }

  zoomed(u) {
    if (u.select.width < 6) return;
    const range = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.onZoom(range);
  }

  // A pointer of this chart (not one that another chart synced) tells which line it is at.
  near(u, at, options) {
    if (options?.focus === undefined || this.told || !this.node.matches(":hover")) return;
    highlight(at === null ? null : (u.series[at]?.key ?? null));
  }

  focus(key) {
    if (!this.u) return;
    const at = key === null ? -1 : this.u.series.findIndex((each) => each.role === "line" && each.key === key);
    this.told = true;
    this.u.setSeries(at < 0 ? null : at, { focus: at >= 0 });
    this.told = false;
  }

  moved(u) {
    const { left, top, idx } = u.cursor;
    const mine = this.node.matches(":hover") || this.byKey;
    this.onCursor(mine && idx !== null && left >= 0 ? { left, top, x: u.data[0][idx], values: this.valuesAt(u, idx, top) } : null);
  }

  // Each line's value at or just before a place of the shared x, nearest to the pointer first.
  valuesAt(u, idx, top) {
    const found = [];
    const x = u.data[0][idx];
    for (const at of this.layers.places) {
      const values = u.data[at];
      const own = this.chart.lines[u.series[at].line].x;
      if (!own.length || x < own[0] || x > own[own.length - 1]) continue; // not begun, or ended
      let place = idx;
      while (place > 0 && values[place] === undefined) place -= 1;
      if (values[place] === undefined) continue;
      const series = u.series[at];
      const value = values[place];
      found.push({
        line: series.line, value,
        far: value === null ? 1e9 : Math.abs(u.valToPos(value, "y") - top),
      });
    }
    return found.sort((a, b) => a.far - b.far);
  }

  // A triangle at the upper edge for each point that is no number; the first one larger.
  marks(u, bad) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    for (const at of this.layers.places) {
      const series = u.series[at];
      const line = this.chart.lines[series.line];
      for (const each of line.bad) {
        const x = u.valToPos(each.x, "x", true);
        if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
        const first = line.first_bad && each.step === line.first_bad.step && each.rank === line.first_bad.rank;
        const size = (first ? 6 : 4) * ratio;
        if (first) {
          ctx.fillStyle = withAlpha(toHex(bad), 0.35);
          ctx.fillRect(x - ratio / 2, bbox.top, ratio, bbox.height);
        }
        ctx.fillStyle = first ? bad : this.layers.styles[series.line].colour;
        ctx.beginPath();
        ctx.moveTo(x - size, bbox.top - size);
        ctx.lineTo(x + size, bbox.top - size);
        ctx.lineTo(x, bbox.top + size * 0.7);
        ctx.fill();
      }
    }
    ctx.restore();
  }

  // The cursor by keys: `by` places of the shared x.
  step(by) {
    const u = this.u;
    if (!u?.data[0].length) return null;
    const now = u.cursor.idx ?? (by > 0 ? -1 : u.data[0].length);
    const next = Math.max(0, Math.min(u.data[0].length - 1, now + by));
    this.byKey = true;
    u.setCursor({ left: u.valToPos(u.data[0][next], "x"), top: u.over.clientHeight / 2 });
    this.byKey = false;
    return next;
  }

  resize() {
    const width = this.node.clientWidth;
    if (this.u && width && width !== this.u.width) this.u.setSize({ width, height: this.height });
  }

  destroy() {
    this.off();
    this.u?.destroy();
    this.u = null;
  }
}

function axisSize(u, values) {
  const longest = Math.max(0, ...(values ?? []).map((v) => v.length));
  return Math.max(36, 16 + longest * 6.4);
}

function compact(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return number(value);
  if (size >= 1e6) return `${number(value / 1e6)}M`;
  if (size >= 1e4) return `${number(value / 1e3)}k`;
  return number(value);
}

function toHex(colour) {
  return /^#[0-9a-f]{6}$/i.test(colour) ? colour : "#c0302b";
}
