// The list: what waits, in groups, and what has closed lately.
//
// Nothing in it moves while a finger or the pointer is on it: what has come meanwhile is announced above
// the list, and takes its place when the person is done. A row only opens a request, whose buttons settle.

import { closed, entries, isOpen, projectOf, agentOf, urgency } from "./asks.js";
import { firstLine } from "./blocks.js";
import { $, arrange, el, put } from "./dom.js";
import { fits } from "./filter.js";
import { counted } from "./parts.js";
import { canSelect, isSelected, selecting, toggle } from "./several.js";
import { localised, when } from "./time.js";

// A finger that was just on the list may come down again.
const TOUCHED = 1_500;

const list = $("list");
const groups = new Map();
const rows = new Map();
let arranged = [];
let touchedAt = -Infinity;
let free = false;

/** `open(id)` shows a request; `changed()` paints the page. */
export function hangList(open, changed) {
  list.addEventListener("pointerleave", changed);
  for (const kind of ["touchstart", "touchmove", "touchend"]) {
    list.addEventListener(kind, () => {
      touchedAt = performance.now();
      setTimeout(changed, TOUCHED + 10);
    }, { passive: true });
  }
  $("news").addEventListener("click", () => {
    release(changed);
    $("list").scrollTop = 0;
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest(".item");
    if (!row || event.target.closest("a") === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (selecting() && canSelect(entries.get(row.dataset.ask))) toggle(row.dataset.ask);
    else open(row.dataset.ask);
  });
}

/** Lets everything take its place now: somebody has said so, or works by keyboard. */
export function release(changed) {
  free = true;
  changed();
  free = false;
}

/** The ids of what waits (and what lingers), as the list shows them. */
export const order = () => arranged;

/** The row of a request. */
export const rowOf = (id) => rows.get(id);

/** Brings the list into its order, unless somebody is at it. */
export function arrangeList() {
  const wanted = [...entries.values()].filter((entry) => isOpen(entry.card) || entry.lingers)
    .filter(fits).sort(urgency);
  const held = isHeld() ? wanted.filter(({ card }) => !arranged.includes(card.id)) : [];
  if (held.length === 0) {
    paintOpen(wanted);
    paintClosed(closed().filter(fits));
  }
  announce(held);
}

/** Draws what the rows say; `current` is the request that is shown beside the list. */
export function paintRows(current) {
  for (const [id, row] of rows) {
    if (row.isConnected) paintRow(row, entries.get(id), current);
    else rows.delete(id);
  }
}

function isHeld() {
  if (free || arranged.length === 0) return false;
  return performance.now() - touchedAt < TOUCHED || list.matches(":hover");
}

function announce(held) {
  const critical = held.filter(({ group }) => group === "critical").length;
  $("news").hidden = held.length === 0;
  $("news").dataset.tone = critical ? "critical" : "open";
  put($("news"), `${counted(held.length, "new request")}${critical ? ", critical" : ""} ↑`);
}

function paintOpen(wanted) {
  arranged = wanted.map(({ card }) => card.id);
  const keys = [...new Set(wanted.map(({ group }) => group))];
  for (const key of [...groups.keys()]) if (!keys.includes(key)) groups.delete(key);
  arrange($("open"), keys.map((key) => {
    const members = wanted.filter(({ group }) => group === key);
    const group = groups.get(key) ?? drawGroup(key, members[0].card);
    groups.set(key, group);
    put(group.querySelector(".many"), String(members.filter(({ card }) => isOpen(card)).length));
    arrange(group.querySelector("ul"), members.map(rowFor));
    return group;
  }));
}

function paintClosed(wanted) {
  arrange($("closed"), wanted.map(rowFor));
  $("past").hidden = wanted.length === 0;
}

function drawGroup(key, card) {
  const name = key === "critical" ? [el("span", { textContent: "Critical" })]
    : [el("bdi", { textContent: agentOf(card) }), el("bdi", { className: "project", textContent: projectOf(card) })];
  const title = el("h3", { className: "group-title" }, ...name, el("span", { className: "many" }));
  return el("section", { className: "group", "data-group": key === "critical" ? "critical" : "agent" },
    title, el("ul", {}));
}

function rowFor(entry) {
  const { id } = entry.card;
  if (!rows.has(id)) rows.set(id, drawRow(entry));
  return rows.get(id);
}

function drawRow({ card }) {
  const box = el("input", { type: "checkbox", className: "pick", tabIndex: -1 });
  box.setAttribute("aria-label", `Select ${card.title}`);
  box.addEventListener("click", () => toggle(card.id));
  return el("li", { className: "item", "data-ask": card.id },
    box,
    el("a", { href: `#/ask/${card.id}` },
      el("span", { className: "gist" }, firstLine(card.title)),
      el("span", { className: "hint" }),
      el("span", { className: "end" })));
}

function paintRow(row, entry, current) {
  if (!entry) return;
  const { card } = entry;
  const open = isOpen(card);
  row.dataset.tone = card.tone;
  row.dataset.state = open ? "open" : "closed";
  const link = row.querySelector("a");
  if (card.id === current) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
  put(row.querySelector(".first"), card.title);
  put(row.querySelector(".hint"), open ? hintOf(entry) : outcomeOf(entry));
  const end = row.querySelector(".end");
  if (open) end.className = "end left";
  else if (!end.querySelector("time")) {
    end.className = "end";
    end.replaceChildren(when(entry.closed));
  }
  const box = row.querySelector(".pick");
  box.hidden = !open || !canSelect(entry);
  box.checked = isSelected(card.id);
}

/** What a row says below its first line: what the call does, or why it is asked. */
function hintOf({ card, group }) {
  const effect = (card.worst ? { kind: "note", text: card.worst } : null) ?? card.blocks.find(({ kind, text }) => kind === "note" && /^(→|Why:)/.test(text))
    ?? card.blocks.find(({ kind }) => kind === "note" || kind === "quote");
  const words = effect?.short ?? effect?.text ?? "";
  const text = effect?.kind === "quote" ? `says: “${words}”` : words;
  return group === "critical" ? [text, card.origin].filter(Boolean).join(" · ") : text;
}

function outcomeOf({ card, closed }) {
  return localised(card.blocks.findLast(({ kind }) => kind === "outcome")?.text ?? card.tone, closed);
}
