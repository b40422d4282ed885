// The views of the page: a new one is a module with a default component, and a line here.
// `tab: false` leaves it out of the head (it is reached from another view).
export const VIEWS = [
  { name: "table", title: "Runs", load: () => import("./table/view.js") },
  { name: "charts", title: "Charts", load: () => import("./charts/view.js") },
];
