// The keyboard: every thing that can be done here has a key, and `?` shows them.

import { $, desk } from "./dom.js";
import { pageName } from "./pages.js";
import { back, go, route } from "./route.js";
import { settled } from "./settle.js";

/** `page`: `{current(), currentNode(), order(), open(id), rowOf(id), toggle(id), clear(), release()}`. */
export function hangKeys(page) {
  $("help").addEventListener("click", () => $("keys").showModal());
  document.addEventListener("keydown", (event) => onKey(page, event));
}

function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  if ($("keys").open || document.querySelector("dialog[open]")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.target.closest("textarea, input:not([type=checkbox]), select")) {
    if (key === "Escape") leaveField(page, event.target);
    return;
  }
  if (onPage(key)) return event.preventDefault();
  if (pageName() !== "inbox") return key === "Escape" && route().id ? back(pageName()) : undefined;
  if (onList(page, key, event.target)) {
    words.last = -Infinity;
    return event.preventDefault();
  }
  onCard(key, event);
}

const PAGES = { 1: "", 2: "history", 3: "grants", 4: "sessions", 5: "rules", 6: "status" };
let prefix = false;

/** Keys that work on every page: `g` and a number goes to one. */
function onPage(key) {
  const wasPrefix = prefix;
  prefix = key === "g";
  if (wasPrefix && key in PAGES) return go(PAGES[key]), true;
  if (key === "?") return $("keys").showModal(), true;
  if (key !== "/") return prefix;
  /** @type {HTMLInputElement | null} */
  const field = document.querySelector("main > :not([hidden]) input[type=search]");
  field?.focus();
  return Boolean(field);
}

function onList(page, key, target) {
  if (key === "j" || key === "k") return step(page, key === "j" ? 1 : -1), true;
  if (key === "Escape") return leave(page, target), true;
  if (key === "x") return page.toggle(page.current() ?? target.closest(".item")?.dataset.ask), true;
  return false;
}

// SECURITY: letters that come together are words of somebody who believes to be in a field, not presses:
// a letter answers when none came just before it and none follows at once. Milliseconds.
const APART = 300;
const words = { last: -Infinity, pending: 0 };

/** Whether this letter belongs to others; takes back what the one before it would have pressed. */
function inWord(key) {
  if (!/^\p{L}$/u.test(key)) return false;
  const now = performance.now();
  const together = now - words.last < APART;
  words.last = now;
  if (together) clearTimeout(words.pending);
  return together;
}

/** Keys of the card that has the focus, or whose row has it. */
function onCard(key, event) {
  if (inWord(key)) return;
  const card = event.target.closest(".card");
  const target = card && [...card.querySelectorAll("[aria-keyshortcuts]")]
    .find((node) => node.getAttribute("aria-keyshortcuts") === key);
  if (!target) return;
  event.preventDefault();
  if (target instanceof HTMLTextAreaElement) return target.focus();
  // What decides nothing, and what is refused as too early, needs no second look.
  const decides = target.dataset.style !== undefined && target.dataset.style !== "open";
  if (!decides || !settled(card) || /\d/.test(key)) return target.click();
  words.pending = setTimeout(() => target.isConnected && target.click(), APART);
}

/** To the next request or the one before; the first press only takes the focus to what is shown. */
function step(page, by) {
  page.release();
  const ids = page.order();
  const at = ids.indexOf(page.current());
  const node = page.currentNode();
  if (node && at >= 0 && !node.contains(document.activeElement) && !page.rowOf(ids[at])?.contains(document.activeElement)) {
    return node.focus();
  }
  if (!desk.matches && route().view === "") {
    const rows = ids.map((id) => page.rowOf(id).querySelector("a"));
    const row = rows.indexOf(document.activeElement);
    return rows[Math.min(Math.max(row + by, 0), rows.length - 1)]?.focus();
  }
  const id = ids[Math.min(Math.max(at < 0 ? 0 : at + by, 0), ids.length - 1)];
  if (id) page.open(id, true);
}

/** From a field to its card, or to the list. */
function leaveField(page, field) {
  const card = field.closest(".card");
  if (card) return card.focus();
  field.blur();
  page.currentNode()?.focus();
}

/** From a card to the list. */
function leave(page, target) {
  if (page.selecting()) return page.clear();
  const id = page.current();
  if (!desk.matches) return back("");
  if (target.closest(".card")) page.rowOf(id)?.querySelector("a").focus();
}
