// A button that opens a panel below it: Escape or a click elsewhere closes it, focus comes back.
import { html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";

export function Popover({ label, icon, title, tally, side = "", kind = "", plain, children }) {
  const [open, set] = useState(false);
  const box = useRef(null);
  useOutside(box, open, () => set(false));
  useEffect(() => {
    if (open) box.current.querySelector(".popover input, .popover select, .popover button")?.focus();
  }, [open]);
  const close = () => {
    set(false);
    box.current?.querySelector("button")?.focus();
  };
  return html`<span class="popped" ref=${box}>
    <button class=${plain ? "plain" : ""} aria-expanded=${open} aria-haspopup="dialog" title=${title ?? ""}
      aria-label=${label ? null : title} onClick=${() => set(!open)}>
      ${icon ? html`<${Icon} name=${icon} />` : null}${label}${tally ? html`<span class="tally">${tally}</span>` : null}
    </button>
    ${open
      ? html`<div class=${`popover ${kind} ${side}`} role="dialog" aria-label=${title ?? label}
          onKeyDown=${(event) => event.key === "Escape" && (event.stopPropagation(), close())}>
          ${typeof children === "function" ? children(close) : children}
        </div>`
      : null}
  </span>`;
}

export function useOutside(box, open, close) {
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event) => {
      if (!box.current?.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);
}

// A menu at a place of the window, for column heads and the like.
export function Menu({ at, items, close, label }) {
  const box = useRef(null);
  useOutside(box, true, close);
  useEffect(() => {
    const node = box.current;
    node.style.left = `${Math.min(at.x, innerWidth - 210)}px`;
    node.style.top = `${Math.min(at.y, innerHeight - 34 * items.length - 20)}px`;
    node.querySelector("button")?.focus();
  }, []);
  const move = (event) => {
    if (event.key === "Escape") close();
    if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...box.current.querySelectorAll("button")];
    const next = all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    all[(next + all.length) % all.length].focus();
  };
  return html`<div class="popover menu headmenu" role="menu" aria-label=${label} ref=${box} onKeyDown=${move}>
    ${items.map((item, place) =>
      item === null
        ? html`<hr key=${place} />`
        : html`<button key=${place} role="menuitem" onClick=${() => (close(), item.run())}>${item.says}</button>`,
    )}
  </div>`;
}
