// Filter and search: the grammar of docs/tracking/query.md; what cannot be read is shown at its place.
import { get } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { changeTable } from "./state.js";

const PAUSE_MS = 350;
const WORD = /[\p{L}\d_./@*(`-]*$/u;
const OPENERS = ["last(", "min(", "max(", "mean(", "count("];

export function FilterBar({ table, mistake, projects, children }) {
  const [offering, setOffering] = useState(false); // words are being offered: a mistake can wait
  const where = mistakeOf(mistake, table.where);
  return html`<div class="bar" role="search">
    ${projects?.length > 1 || table.project ? html`<${Projects} table=${table} projects=${projects ?? []} />` : null}
    <${Field} name="where" label="Filter" icon="filter" value=${table.where} table=${table} bad=${where}
      placeholder='Filter, such as  config.lr < 0.001 and min(val/loss) < 3' complete offering=${setOffering} />
    <${Field} name="search" label="Search in all metadata" icon="search" kind="search" value=${table.search}
      table=${table} bad=${!where && mistake} placeholder="Search: adam & !?tag:bad" />
    ${children}
    ${mistake && !offering ? html`<${Mistake} error=${mistake} />` : null}
  </div>`;
}

function mistakeOf(error, text) {
  return error?.query && text && error.query.text === text;
}

function Projects({ table, projects }) {
  const all = [...new Set([...projects, ...(table.project ? [table.project] : [])])];
  return html`<label class="field"><span class="spoken">Project</span>
    <select value=${table.project ?? ""} onChange=${(e) => changeTable({ project: e.target.value || null })}>
      <option value="">All projects</option>
      ${all.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select></label>`;
}

function Mistake({ error }) {
  const { text, position } = error.query ?? {};
  return html`<div class="mistake" role="alert">${error.message}
    ${text === undefined ? null : html`<pre>${`${text}\n${" ".repeat(position)}`}<span class="caret">^</span></pre>`}
  </div>`;
}

function Field({ name, label, icon, kind = "", value, table, bad, placeholder, complete, offering }) {
  const [text, set] = useState(value ?? "");
  const [offers, setOffers] = useState([]);
  const [active, setActive] = useState(0);
  const timer = useRef(null);
  const input = useRef(null);
  const asked = useRef(0);
  useEffect(() => offering?.(offers.length > 0), [offers.length > 0]);
  useEffect(() => {
    if (document.activeElement !== input.current || !timer.current) set(value ?? "");
  }, [value]);

  const apply = (next, replace) => {
    clearTimeout(timer.current);
    timer.current = null;
    if ((table[name] ?? "") !== next.trim()) changeTable({ [name]: next.trim() || null }, { replace });
  };
  const type = async (event) => {
    const next = event.target.value;
    set(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(next, true), PAUSE_MS);
    if (!complete) return;
    const mine = ++asked.current;
    const found = await suggestions(next.slice(0, event.target.selectionStart), table);
    if (mine === asked.current) {
      setOffers(found);
      setActive(0);
    }
  };
  const take = (offer) => {
    const at = input.current.selectionStart;
    const head = text.slice(0, at).replace(WORD, offer);
    const next = head + text.slice(at);
    set(next);
    setOffers([]);
    input.current.focus();
    requestAnimationFrame(() => input.current.setSelectionRange(head.length, head.length));
  };
  const key = (event) => {
    if (offers.length && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      setActive((active + (event.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length);
    } else if (offers.length && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      take(offers[active]);
    } else if (event.key === "Enter") {
      setOffers([]);
      apply(text, false);
    } else if (event.key === "Escape") setOffers([]);
  };
  const list = `offers-${name}`;
  return html`<span class=${`filter ${kind}`}><${Icon} name=${icon} />
    <input ref=${input} type="text" value=${text} placeholder=${placeholder} aria-label=${label} spellcheck="false"
      autocomplete="off" autocapitalize="off" aria-invalid=${Boolean(bad)} onInput=${type} onKeyDown=${key}
      onBlur=${() => (setTimeout(() => setOffers([]), 150), apply(text, true))}
      role=${complete ? "combobox" : null} aria-expanded=${complete ? offers.length > 0 : null}
      aria-controls=${complete ? list : null}
      aria-activedescendant=${offers.length ? `${list}-${active}` : null} />
    ${offers.length
      ? html`<ul class="offers" role="listbox" id=${list}>
          ${offers.map((offer, place) => html`<li key=${offer} role="option" id=${`${list}-${place}`}
            aria-selected=${place === active} onPointerDown=${(e) => (e.preventDefault(), take(offer))}>${offer}</li>`)}
        </ul>`
      : null}
  </span>`;
}

let known = { key: null, names: null };

// Attributes that go on with the word before the caret.
async function suggestions(before, table) {
  const word = WORD.exec(before)[0];
  if (word.length < 2 || /['"][^'"]*$/.test(before)) return [];
  const key = table.project ?? "";
  if (known.key !== key) {
    known = { key, names: null };
    known.names = await get("columns", { spec: { project: table.project ?? null } }).catch(() => null);
  }
  if (!known.names) return [];
  return attributesOf(known.names).filter((each) => each !== word && matches(each, word)).slice(0, 12);
}

function matches(attribute, word) {
  const low = word.toLowerCase();
  return attribute.toLowerCase().startsWith(low) || (low.length > 2 && attribute.toLowerCase().includes(low));
}

export function quoted(name) {
  return /^[\p{L}*][\p{L}\d_./@*-]*$/u.test(name) ? name : "`" + name.replace(/`/g, "``") + "`";
}

function attributesOf(names) {
  const named = ["config", "tag", "file"].flatMap((kind) => names[kind].map((name) => attribute(kind, name)));
  const metrics = names.metric.flatMap((name) => OPENERS.map((opener) => `${opener}${quoted(name)})`));
  return [...names.run, ...named, ...metrics];
}

// The attribute of a config, tag, file or (as its last value) metric.
export function attribute(kind, name, aggregate = "last") {
  if (kind === "run") return name;
  if (kind === "metric") return `${aggregate}(${quoted(name)})`;
  return `${kind}.${/^[\p{L}\d_./@*-]+$/u.test(name) ? name : quoted(name)}`;
}
