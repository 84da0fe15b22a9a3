// The list: what waits, in groups, and what has closed lately.
//
// Nothing in it moves while a finger or the pointer is on it: what has come meanwhile is announced above
// the list, and takes its place when the person is done. A row opens a request, whose buttons settle; where
// its one line says the whole call, the row answers it too.

import { act } from "./act.js";
import { closed, entries, isOpen, projectOf, agentOf, urgency } from "./asks.js";
import { firstLine } from "./blocks.js";
import { $, arrange, el, put } from "./dom.js";
import { fits } from "./filter.js";
import { foldList } from "./folding.js";
import { counted } from "./parts.js";
import { canSelect, isSelected, selecting, toggle } from "./several.js";
import { localised, when } from "./time.js";
import { signOf, verdictOf } from "./verdict.js";

// A finger that was just on the list may come down again.
const TOUCHED = 1_500;

const list = $("list");
const groups = new Map();
const rows = new Map();
/** The keys of groups that show all of their rows. */
const opened = new Set();
/** What each row stands for, by the id of its request. */
const twins = new Map();
/** All that had a place when the list was arranged last. */
let known = new Set();
let arranged = [];
let touchedAt = -Infinity;
let free = false;
let page;

/** `given`: `{connected(), change(what), open(id)}`. */
export function hangList(given) {
  page = given;
  const changed = () => page.change();
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
    if (selecting() && canSelect(entries.get(row.dataset.ask))) toggle(...twinsOf(row.dataset.ask));
    else page.open(row.dataset.ask);
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

/** The ids of all requests that the row of this one stands for. */
export const twinsOf = (id) => twins.get(id) ?? [id];

/** Brings the list into its order, unless somebody is at it. */
export function arrangeList() {
  const wanted = [...entries.values()].filter((entry) => isOpen(entry.card) || entry.lingers)
    .filter(fits).sort(urgency);
  const folded = foldList(wanted, opened);
  const held = isHeld() ? folded.flatMap(({ rows }) => rows).filter(({ ids }) => !ids.some((id) => known.has(id))) : [];
  if (held.length === 0) {
    paintOpen(folded);
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
  const critical = held.filter(({ entry }) => entry.group === "critical").length;
  $("news").hidden = held.length === 0;
  $("news").dataset.tone = critical ? "critical" : "open";
  put($("news"), `${counted(held.flatMap(({ ids }) => ids).length, "new request")}${critical ? ", critical" : ""} ↑`);
}

function paintOpen(folded) {
  const shown = folded.flatMap(({ rows }) => rows);
  arranged = shown.map(({ entry }) => entry.card.id);
  known = new Set(folded.flatMap(({ rows, hidden }) => [...rows, ...hidden]).flatMap(({ ids }) => ids));
  twins.clear();
  for (const { entry, ids } of shown) twins.set(entry.card.id, ids);
  const keys = folded.map(({ key }) => key);
  for (const key of [...groups.keys()]) if (!keys.includes(key)) groups.delete(key);
  arrange($("open"), folded.map(({ key, count, rows, hidden }) => {
    const group = groups.get(key) ?? drawGroup(key, rows[0].entry.card);
    groups.set(key, group);
    put(group.querySelector(".many"), String(count));
    const all = group.querySelector(".all");
    if (all) all.ids = [...rows, ...hidden].flatMap(({ ids }) => ids);
    const rest = group.querySelector(".rest");
    rest.hidden = hidden.length === 0;
    put(rest, `Show ${hidden.flatMap(({ ids }) => ids).length} more`);
    arrange(group.querySelector("ul"), rows.map(({ entry }) => rowFor(entry)));
    return group;
  }));
}

function paintClosed(wanted) {
  arrange($("closed"), wanted.map(rowFor));
  $("past").hidden = wanted.length === 0;
}

function drawGroup(key, card) {
  const critical = key === "critical";
  const name = critical ? [el("span", { textContent: "Critical" })]
    : [el("bdi", { textContent: agentOf(card) }), el("bdi", { className: "project", textContent: projectOf(card) })];
  const all = el("button", { type: "button", className: "quiet all", textContent: "Select all" });
  all.addEventListener("click", () => toggle(...all.ids));
  const rest = el("button", { type: "button", className: "quiet rest", hidden: true });
  rest.addEventListener("click", () => {
    opened.add(key);
    release(() => page.change());
  });
  return el("section", { className: "group", "data-group": critical ? "critical" : "agent" },
    el("h3", { className: "group-title" }, ...name, critical ? "" : all, el("span", { className: "many" })),
    el("ul", {}), rest);
}

function rowFor(entry) {
  const { id } = entry.card;
  if (!rows.has(id)) rows.set(id, drawRow(entry));
  return rows.get(id);
}

function drawRow({ card }) {
  const box = el("input", { type: "checkbox", className: "pick", tabIndex: -1 });
  box.setAttribute("aria-label", `Select ${card.title}`);
  box.addEventListener("click", () => toggle(...twinsOf(card.id)));
  return el("li", { className: "item", "data-ask": card.id },
    box,
    el("a", { href: `#/ask/${card.id}` },
      el("span", { className: "gist" }, firstLine(card.title), el("span", { className: "times" })),
      el("span", { className: "hint" }),
      el("span", { className: "end" })),
    el("span", { className: "quick", hidden: true },
      answerer(card.id, "deny", "✗", "Deny"), answerer(card.id, "approve", "✓", "Approve")));
}

/** A button of a row: it presses the one of its card, if the row stood still. */
function answerer(id, style, sign, word) {
  const node = el("button", { type: "button", className: style, title: word }, el("span", { "aria-hidden": "true", textContent: sign }));
  node.addEventListener("click", () => {
    const entry = entries.get(id);
    const button = entry && answers(entry)[style];
    // SECURITY: the row says the whole call, so there is no end that could be out of sight.
    if (button) act({ ...page, nodeOf: () => rowOf(id), whole: true }, entry, button);
  });
  return node;
}

/** What a row can answer: a call of which its one line says all. */
function answers({ card, missing }) {
  if (!card.whole || card.tone !== "open" || missing) return {};
  const buttons = card.buttons.flat();
  return { approve: buttons.find(({ style }) => style === "approve"), deny: buttons.find(({ style }) => style === "deny") };
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
  const count = twinsOf(card.id).length;
  put(row.querySelector(".times"), open && count > 1 ? ` ×${count}` : "");
  paintHint(row.querySelector(".hint"), entry, open);
  const end = row.querySelector(".end");
  if (open) end.className = "end left";
  else if (!end.querySelector("time")) {
    end.className = "end";
    end.replaceChildren(when(entry.closed));
  }
  const box = row.querySelector(".pick");
  box.hidden = !open || !canSelect(entry);
  box.checked = isSelected(card.id);
  paintQuick(row, entry);
}

/** What a press on the row came to, else what the call does, or how it ended. */
function paintHint(hint, entry, open) {
  const { receipt } = entry;
  const said = open && receipt ? { sign: signOf(receipt), words: receipt.sentence } : null;
  const { sign, words } = said ?? (open ? { sign: "", words: hintOf(entry) } : verdictOf(entry.card));
  hint.dataset.sign = sign;
  put(hint, localised(words));
}

/** The buttons of a row. What answers carries its name in `data-settle`. */
function paintQuick(row, entry) {
  const can = answers(entry);
  const shown = Boolean(can.approve && can.deny) && twinsOf(entry.card.id).length === 1;
  const quick = row.querySelector(".quick");
  quick.hidden = !shown;
  row.classList.toggle("whole", shown);
  if (!shown) return row.removeAttribute("data-settle");
  row.dataset.settle = `row ${entry.card.id}`;
  for (const button of quick.children) {
    button.setAttribute("aria-label", `${button.title}: ${entry.card.title}`);
    button.setAttribute("aria-disabled", Boolean(entry.busy) || !page.connected());
  }
}

/** What a row says below its first line: what the call does, or why it is asked. */
function hintOf({ card, group }) {
  const effect = (card.worst ? { kind: "note", text: card.worst } : null) ?? card.blocks.find(({ kind, text }) => kind === "note" && /^(→|Why:)/.test(text))
    ?? card.blocks.find(({ kind }) => kind === "quote") ?? card.blocks.find(({ kind, text }) => kind === "note" && !/\bstores?: /.test(text));
  const words = effect?.short ?? effect?.text ?? "";
  const text = effect?.kind === "quote" ? `says: “${words}”` : words;
  return group === "critical" ? [text, card.origin].filter(Boolean).join(" · ") : text;
}
