// Several requests, selected in the list and answered together: each by its own press, on its own button.
// Critical requests and questions are never among them.

import { entries, isOpen, isQuestion } from "./asks.js";
import { drawBlock, firstLine, folded } from "./blocks.js";
import { $, el, put, say } from "./dom.js";
import { shape } from "./keep.js";
import { press } from "./line.js";
import { settled, unsettle } from "./settle.js";
import { endWasSeen } from "./sight.js";
import { localised } from "./time.js";
import { signOf } from "./verdict.js";

const selected = new Set();
const results = new Map();
let mode = false;
let sending = false;
let changed = () => {};
let drawn = "";

/** `paint()` draws the page. */
export function hangSeveral(paint) {
  changed = paint;
  $("select").addEventListener("click", () => (mode ? clearSelection() : (mode = true, changed())));
}

/** Whether rows are selected rather than opened. */
export const selecting = () => mode;
export const isSelected = (id) => selected.has(id);
export const hasSelection = () => selected.size > 0;

/** Whether a request can be answered together with others. */
export function canSelect({ card, missing }) {
  return card.tone === "open" && !missing && !isQuestion(card) && Boolean(buttonOf(card, "approve") && buttonOf(card, "deny"));
}

/** Selects requests, or takes them out again where all of them are selected. */
export function toggle(...ids) {
  if (sending) return;
  if (results.size > 0) clear();
  const able = ids.filter((id) => entries.has(id) && canSelect(entries.get(id)));
  const all = able.every((id) => selected.has(id));
  for (const id of able) {
    if (all) selected.delete(id);
    else selected.add(id);
  }
  mode = mode || selected.size > 0;
  changed();
}

/** Ends the selection. */
export function clearSelection() {
  clear();
  mode = false;
  changed();
}

function clear() {
  selected.clear();
  results.clear();
}

const buttonOf = ({ buttons }, style) => buttons.flat().find((button) => button.style === style);

/** Draws the selected requests and what became of each, or nothing. Returns whether there are some. */
export function paintSeveral(parent, connected) {
  // What closed before it was answered here leaves the selection.
  for (const id of selected) {
    const entry = entries.get(id);
    if (!results.has(id) && !sending && (!entry || !canSelect(entry))) selected.delete(id);
  }
  $("select").setAttribute("aria-pressed", mode);
  put($("select"), mode ? "Done" : "Select");
  document.body.dataset.selecting = String(mode);
  if (selected.size === 0) {
    drawn = "";
    return false;
  }
  const picture = JSON.stringify([[...selected].map((id) => [id, entries.get(id)?.card]), [...results], sending]);
  if (picture !== drawn || !parent.querySelector(".several")) {
    const node = draw();
    parent.replaceChildren(node);
    unsettle(node);
  }
  drawn = picture;
  for (const button of parent.querySelectorAll(".bar button.decide")) button.setAttribute("aria-disabled", !connected);
  return true;
}

function draw() {
  const ids = [...selected];
  const done = results.size > 0;
  const title = done ? summary() : `${ids.length} selected`;
  const node = el("article", { className: "card several", tabIndex: 0, "data-settle": `several ${ids}`, "aria-labelledby": "t-several" },
    el("div", { className: "matter" },
      el("div", { className: "head" }, el("h2", { id: "t-several", textContent: title })),
      done ? "" : el("p", { className: "note", textContent: "Each is answered separately; nothing is remembered." }),
      el("ol", { className: "each" }, ...ids.map(drawOne))),
    el("div", { className: "bar" }, el("div", { className: "buttons" }, el("div", { className: "row" },
      ...(done ? [button("Done", "done", clearSelection)] : [
        button(`Approve ${ids.length}`, "approve decide", () => answer(node, "approve")),
        button(`Deny ${ids.length}`, "deny decide", () => answer(node, "deny")),
        button("Cancel", "text", clearSelection),
      ])))));
  return node;
}

function drawOne(id) {
  const entry = entries.get(id) ?? { card: { title: id, origin: "", blocks: [] } };
  const { card } = entry;
  const result = results.get(id);
  const content = result ? [] : folded(entry).filter(({ kind }) => kind !== "details");
  return el("li", { "data-ask": id },
    firstLine(card.title),
    el("p", { className: "origin" }, el("bdi", { textContent: card.origin })),
    ...content.map((block) => drawBlock(block, card)),
    result ? el("p", {
      className: "receipt", "data-outcome": result.outcome, "data-sign": signOf(result), textContent: localised(result.sentence),
    }) : "");
}

function button(label, className, act) {
  const node = el("button", { type: "button", className, "data-slot": label.replace(/ \d+$/, ""), disabled: sending, textContent: label });
  node.addEventListener("click", act);
  return node;
}

/** Presses one button on each: the one that its card has now. */
async function answer(node, style) {
  if (sending || !settled(node) || (style === "approve" && !endWasSeen(node))) return;
  if (document.querySelector(".bar .decide")?.getAttribute("aria-disabled") === "true") return;
  const seen = new Map([...selected].map((id) => [id, shape(entries.get(id).card)]));
  sending = true;
  changed();
  for (const [id, picture] of seen) {
    results.set(id, { outcome: "sending", sentence: "Sending…" });
    changed();
    results.set(id, await pressOn(id, style, picture));
    changed();
  }
  sending = false;
  changed();
  say(summary());
}

async function pressOn(id, style, picture) {
  const entry = entries.get(id);
  if (!entry || !isOpen(entry.card)) return { outcome: "already_answered", sentence: "Closed before it was pressed." };
  // SECURITY: what is not as the person saw it is not answered.
  if (!canSelect(entry) || shape(entry.card) !== picture) {
    return { outcome: "fault", sentence: "It has changed, so nothing was pressed. Open it." };
  }
  return await press(id, buttonOf(entry.card, style).token);
}

function summary() {
  const all = [...results.values()];
  const applied = all.filter(({ outcome }) => outcome === "applied").length;
  const other = all.length - applied;
  if (sending) return `Answering ${selected.size}…`;
  return other === 0 ? `${applied} answered` : `${applied} answered, ${other} not`;
}
