// The pages beside the inbox, and the navigation between them.

import { $, all } from "./dom.js";
import { grants } from "./grants.js";
import { history } from "./history.js";
import { route } from "./route.js";
import { rules } from "./rules.js";
import { sessions } from "./sessions.js";
import { status } from "./status.js";

/** Each page: `show(part, id)` draws it whenever it is opened anew. */
const pages = { history, grants, sessions, rules, status };
let shown = "inbox";

/** The name of the page that the address means. */
export const pageName = () => (route().page in pages ? route().page : "inbox");

/** Shows the page of the address. */
export function paintPages() {
  const name = pageName();
  const place = name === "inbox" ? name : `${name}/${route().id}`;
  if (place === shown) return;
  shown = place;
  for (const part of all("main > .page")) part.hidden = part.id !== name;
  for (const link of all(".pages a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "inbox") return;
  // Once this change of the page is done: a page may change it again.
  queueMicrotask(() => pages[name].show($(name), route().id));
}

/** Reads the page again that could not be read while countersign was away. */
export function refreshPages() {
  const name = pageName();
  if (name !== "inbox" && $(name).querySelector(".wrong")) pages[name].show($(name), route().id);
}
