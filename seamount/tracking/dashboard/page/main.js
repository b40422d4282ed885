// The shell: head, the view that the address names, and what is said where there is none.
import { Icon } from "./icons.js";
import { Fragment, html, render, useEffect, useState } from "./html.js";
import { get } from "./api.js";
import { loadPalette } from "./charts/palette.js";
import { useLiveState } from "./live.js";
import { change, start, useView } from "./state.js";
import { apply, nextTheme, useTheme } from "./theme.js";
import { VIEWS } from "./views.js";

function Shell() {
  const view = useView();
  const name = view.page ?? "table";
  const known = VIEWS.find((each) => each.name === name);
  const Body = useModule(known);
  const me = useMe();
  useEffect(() => {
    document.title = `${known?.title ?? "Not found"} · Seamount`;
  }, [known]);
  return html`<${Fragment}>
    <a class="skip" href="#main">To the content</a>
    <header class="head">
      <a class="brand" href="/"><img src="/static/icon.svg" alt="" width="24" height="24" /> Seamount</a>
      <nav class="tabs" aria-label="Views">
        ${VIEWS.filter((each) => each.tab !== false).map(
          (each) => html`<a key=${each.name} href="#" aria-current=${each.name === name ? "page" : null}
            onClick=${(event) => goTo(event, each.name)}>${each.title}</a>`,
        )}
      </nav>
      <span class="room"></span>
      ${me && !me.writes ? html`<span class="note">read only${me.project ? `: ${me.project}` : ""}</span>` : null}
      <${LiveDot} />
      ${me?.writes ? html`<a class="note" href="/mlflow/">MLflow's UI</a>` : null}
      <${ThemeButton} />
    </header>
    <main class="page" id="main" tabindex="-1">
      ${view.broken || !known
        ? html`<${Broken} />`
        : Body
          ? html`<${Body} view=${view} me=${me} />`
          : html`<p class="starting">Loading…</p>`}
    </main>
  </${Fragment}>`;
}

function goTo(event, page) {
  event.preventDefault();
  change({ page: page === "table" ? null : page });
}

function useModule(known) {
  const [loaded, set] = useState({});
  useEffect(() => {
    if (known) known.load().then((module) => set({ name: known.name, Body: module.default }));
  }, [known]);
  return loaded.name === known?.name ? loaded.Body : null;
}

function useMe() {
  const [me, set] = useState(null);
  useEffect(() => {
    get("me").then(set, () => set(null));
  }, []);
  return me;
}

function LiveDot() {
  const state = useLiveState();
  const says = { on: "Live", off: "Reconnecting…", idle: "Connecting…" }[state];
  return html`<span class=${`live ${state}`} role="status"><i></i>${says}</span>`;
}

function ThemeButton() {
  const { chosen } = useTheme();
  const icon = { auto: "auto", light: "sun", dark: "moon" }[chosen];
  return html`<button class="icon plain" onClick=${nextTheme} title=${`Colours: ${chosen}`}
    aria-label=${`Colours: ${chosen}; change`}><${Icon} name=${icon} /></button>`;
}

function Broken() {
  return html`<div class="message"><h2>This address does not hold a view</h2>
    <p>It was cut or changed on its way. Ask for it again, or begin anew.</p>
    <button class="primary" onClick=${() => location.assign("/")}>All runs</button></div>`;
}

apply();
await Promise.all([start(), loadPalette()]);
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${Shell} />`, app);
