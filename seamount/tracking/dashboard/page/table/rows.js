// The rows and cells that were fetched so far: what is in view is asked for, and kept by run.
import { get } from "../api.js";

const CHUNK = 100;

export class Rows {
  constructor(changed) {
    this.changed = changed;
    this.key = null;
    this.generation = 0;
    this.reset();
  }

  reset() {
    this.info = null; // total, columns, groups, ... of the newest answer
    this.order = new Map(); // place -> run id
    this.runs = new Map(); // run id -> {id, name, state, project}
    this.cells = new Map(); // run id -> Map(field -> value)
    this.groups = []; // {values, start, count, cells: Map(field -> summary)}
    this.types = new Map(); // field -> type
    this.asked = new Map(); // chunk -> Set of fields
    this.error = null;
    this.waiting = true;
  }

  // Another question: what is shown stays until the first answer comes.
  show(spec) {
    const key = JSON.stringify({ ...spec, columns: null, pinned_columns: null });
    const unknown = !spec.columns?.length && !this.info?.suggested;
    this.spec = spec;
    if (key === this.key && !unknown) return;
    this.key = key;
    this.begin();
    this.waiting = true;
    this.fetch(0, spec.columns?.length ? spec.columns.slice(0, 30) : null, true);
  }

  // The same question again, since runs changed.
  again() {
    if (!this.info) return;
    this.since = this.info.revision;
    this.begin();
    const last = this.last;
    if (last) this.need(...last);
  }

  begin() {
    this.generation += 1;
    this.asked.clear();
    this.stop?.abort();
    this.stop = new AbortController();
  }

  // Have rows `first` to `last` with their cells of `fields`.
  need(first, last, fields) {
    this.last = [first, last, fields];
    if (!this.info) return;
    for (let chunk = Math.floor(first / CHUNK); chunk <= Math.floor(last / CHUNK); chunk += 1) {
      const asked = this.asked.get(chunk);
      const missing = asked ? fields.filter((field) => !asked.has(field)) : fields;
      if (missing.length || !asked) this.fetch(chunk, missing, false);
    }
  }

  async fetch(chunk, fields, fresh) {
    const mine = this.generation;
    const since = fresh ? undefined : this.since;
    if (fields) this.note(chunk, fields);
    try {
      const spec = fields ? { ...this.spec, columns: undefined } : this.spec;
      const question = { spec, offset: chunk * CHUNK, limit: CHUNK, since };
      const answer = await get("runs", fields ? { ...question, fields } : question, this.stop.signal);
      if (mine === this.generation) this.take(chunk, answer, fresh, !fields);
    } catch (error) {
      if (error.name === "AbortError" || mine !== this.generation) return;
      this.error = error;
      this.waiting = false;
      this.changed();
    }
  }

  note(chunk, fields) {
    const asked = this.asked.get(chunk) ?? new Set();
    for (const field of fields) asked.add(field);
    this.asked.set(chunk, asked);
  }

  take(chunk, answer, fresh, suggested) {
    const names = answer.fields.map((field) => field.name);
    if (fresh) {
      const asked = this.asked;
      const info = this.info;
      this.reset();
      this.asked = asked;
      this.suggestions = suggested ? answer.columns : (this.suggestions ?? info?.columns);
      this.since = undefined;
    }
    this.info = { ...answer, rows: null, suggested: this.suggestions };
    this.note(chunk, names);
    for (const field of answer.fields) this.types.set(field.name, field.type);
    const incomplete = this.fill(chunk, answer, names);
    this.takeGroups(answer.groups ?? [], names);
    for (const place of this.order.keys()) if (place >= answer.total) this.order.delete(place);
    this.error = null;
    this.waiting = false;
    if (incomplete) {
      this.since = undefined; // rows came into view that were never here
      this.fetch(chunk, names, false);
    }
    this.changed();
  }

  fill(chunk, answer, names) {
    let incomplete = false;
    const put = (row) => {
      if (typeof row === "string") {
        incomplete ||= !this.runs.has(row) || !names.every((name) => this.cells.get(row).has(name));
        return row;
      }
      const { cells, ...head } = row;
      this.runs.set(row.id, head);
      const kept = this.cells.get(row.id) ?? new Map();
      names.forEach((name, place) => kept.set(name, cells[place]));
      this.cells.set(row.id, kept);
      return row.id;
    };
    answer.rows.forEach((row, place) => this.order.set(chunk * CHUNK + place, put(row)));
    this.pinned = answer.pinned.map(put);
    return incomplete;
  }

  takeGroups(groups, names) {
    const before = new Map(this.groups.map((group) => [group.key, group]));
    this.groups = groups.map((group) => {
      const key = JSON.stringify(group.values);
      const cells = new Map(before.get(key)?.cells);
      names.forEach((name, place) => cells.set(name, group.cells[place]));
      return { ...group, key, cells };
    });
  }

  at(place) {
    return this.runs.get(this.order.get(place));
  }

  cell(id, field) {
    return this.cells.get(id)?.get(field);
  }
}
