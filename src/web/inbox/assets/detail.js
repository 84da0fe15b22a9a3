// The detail: one request in whole, with its buttons; beside the list on a desk, alone on a phone.

import { act } from "./act.js";
import { entries, isOpen, waiting } from "./asks.js";
import { fit } from "./blocks.js";
import { drawCard } from "./card.js";
import { $, desk, el, put } from "./dom.js";
import { hold, restore, shape } from "./keep.js";
import { order, rowOf } from "./list.js";
import { paintSeveral } from "./several.js";
import { unsettle } from "./settle.js";
import { sameAs } from "./sight.js";
import { localised, now, span } from "./time.js";
import { signOf } from "./verdict.js";

const parent = $("detail");
let page;
let shown = null;

/** `given`: `{connected(), change(what), open(id)}`. */
export function hangDetail(given) {
  page = { ...given, nodeOf: (entry) => (shown?.entry === entry ? shown.node : null) };
  $("next").addEventListener("click", () => page.open(nextId()));
}

/** The id of the request that is shown. */
export const current = () => shown?.entry.card.id ?? null;

/** The card that is shown. */
export const currentNode = () => shown?.node ?? null;

/** What is to be shown where nobody has chosen: on a desk always something, on a phone nothing. */
export function choose(chosen) {
  if (chosen && entries.has(chosen)) return chosen;
  if (!desk.matches) return null;
  const kept = shown && entries.has(shown.entry.card.id) ? shown.entry : null;
  if (kept && (isOpen(kept.card) || kept.lingers)) return kept.card.id;
  // What has closed stays while somebody is at it: nothing slides under their finger.
  if (kept && parent.parentElement.matches(":hover, :focus-within")) return kept.card.id;
  return order()[0] ?? kept?.card.id ?? null;
}

/** Draws the request of this id, the selected ones, or that there is nothing. */
export function paintDetail(id) {
  const entry = entries.get(id);
  const several = paintSeveral(parent, page.connected());
  $("nothing").hidden = several || Boolean(entry) || waiting().length === 0;
  if (several || !entry) {
    shown = null;
    if (!several) parent.replaceChildren();
    return paintNext(null);
  }
  if (shown?.entry !== entry) draw(entry);
  else if (shown.card !== entry.card) redraw(entry);
  paintState(entry);
  paintNext(entry);
}

function draw(entry) {
  const node = drawCard(entry, (button, text) => act(page, entry, button, text));
  shown = { entry, card: entry.card, node };
  parent.replaceChildren(node);
  parent.scrollTop = 0;
  unsettle(node);
}

/** Draws a card anew where it is, with what the person has under their hands. */
function redraw(entry) {
  const { card: before, node: old } = shown;
  const top = parent.scrollTop;
  const kept = hold(old);
  const node = drawCard(entry, (button, text) => act(page, entry, button, text));
  shown = { entry, card: entry.card, node };
  old.replaceWith(node);
  fit(node);
  restore(node, kept);
  parent.scrollTop = top;
  // The same buttons with another tick are no new card; anything else has to settle.
  if (shape(before) !== shape(entry.card)) unsettle(node);
  else sameAs(old, node);
}

function paintState(entry) {
  const { busy, missing, receipt } = entry;
  const { node } = shown;
  const still = Boolean(busy || missing || !page.connected());
  node.classList.toggle("still", still);
  node.setAttribute("aria-busy", Boolean(busy));
  for (const button of node.querySelectorAll(".buttons button")) button.setAttribute("aria-disabled", still);
  const line = node.querySelector(".receipt");
  line.hidden = !receipt;
  if (!receipt) return;
  line.dataset.outcome = receipt.outcome;
  line.dataset.sign = signOf(receipt);
  put(line, localised(receipt.sentence));
}

/** After an answer, the way on. */
function paintNext(entry) {
  const on = entry && !isOpen(entry.card) ? nextId() : null;
  $("next").hidden = !on;
  if (on) put($("next").firstElementChild, `Next of ${waiting().length}: ${entries.get(on).card.title}`);
  $("place").replaceChildren(...placeOf(entry));
}

/** Where a request is in the list, for a phone. */
function placeOf(entry) {
  const open = order().filter((id) => isOpen(entries.get(id)?.card ?? {}));
  const at = entry ? open.indexOf(entry.card.id) : -1;
  return at < 0 ? [] : [el("span", { textContent: `${at + 1} of ${open.length}` })];
}

function nextId() {
  return order().find((id) => isOpen(entries.get(id)?.card ?? {})) ?? waiting()[0]?.card.id ?? null;
}

/** Draws the time that is left, in the list and on the card. */
export function tick() {
  for (const entry of entries.values()) if (isOpen(entry.card)) tickRow(entry);
  const sand = shown?.node.querySelector(".sand > div");
  if (!sand) return;
  const { card, since } = shown.entry;
  const ms = card.deadline - now();
  const part = Math.max(0, Math.min(1, ms / Math.max(1, card.deadline - since)));
  sand.style.transform = `scaleX(${part})`;
  paintLeft(shown.node.querySelector(".left"), ms, " left", " · ");
}

function tickRow({ card }) {
  if (card.deadline === null) return;
  const row = rowOf(card.id)?.querySelector(".left");
  if (row) paintLeft(row, card.deadline - now(), "", "");
}

function paintLeft(node, ms, after, before) {
  put(node, ms > 0 ? `${before}${span(ms)}${after}` : `${before}time is up`);
  node.classList.toggle("soon", ms < 60_000);
}
