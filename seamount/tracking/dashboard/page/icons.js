// Line icons, drawn here: 16 by 16, in the colour of the text around them.
import { html } from "./html.js";

const PATHS = {
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  filter: "M2 3h12L9.5 8.5V13l-3 1V8.5Z",
  columns: "M2.5 2.5h11v11h-11zM6.2 2.5v11M9.8 2.5v11",
  group: "M2 3h5v4H2zM9 9h5v4H9zM4.5 7v4H9",
  chart: "M2 13.5h12M3 10.5l3-4 3 2.5L13.5 3",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 0v12M8 4.5a3.5 3.5 0 0 1 0 7",
  pin: "M6 2h4l-.5 4.5L12 9H4l2.5-2.5ZM8 9v5",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M8 3.2v.1M8 8v.1M8 12.7v.1",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  table: "M2 3h12v10H2zM2 6.5h12M2 10h12M6 3v10",
  reset: "M3 3v4h4M3.3 7A5 5 0 1 1 3 9.5",
  expand: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13 3 9.5 6.5M3 13l3.5-3.5",
  settings: "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3",
};

export function Icon({ name }) {
  return html`<svg viewBox="0 0 16 16" width="15" height="15" fill="none" stroke="currentColor"
    stroke-width=${name === "more" ? 2.4 : 1.4} stroke-linecap="round" stroke-linejoin="round"
    aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
