// Nothing is pressed by accident: a card that has just come, moved or changed takes no press for a
// moment, and a press counts from where it began (a finger that came down before the card did). What
// settles carries a name in `data-settle`.

import { all } from "./dom.js";

const SETTLE = 700;
const readyAt = new Map();
let begun = null;

/** Runs a change of the page; what is elsewhere afterwards has to settle. */
export function moving(change) {
  const cards = () => all("[data-settle]").filter((card) => card.offsetParent);
  const before = new Map(cards().map((card) => [card.dataset.settle, card.getBoundingClientRect().top]));
  change();
  for (const card of cards()) {
    const top = before.get(card.dataset.settle);
    if (top === undefined || Math.abs(top - card.getBoundingClientRect().top) > 2) unsettle(card);
  }
}

/** The card takes no press for a moment. */
export function unsettle(card) {
  const { settle: id } = card.dataset;
  const until = performance.now() + SETTLE;
  readyAt.set(id, until);
  card.classList.add("settling");
  setTimeout(() => {
    if (readyAt.get(id) !== until) return;
    readyAt.delete(id);
    card.classList.remove("settling");
  }, SETTLE);
}

/** The card takes presses at once: somebody has gone to it by a key, so no finger is over it. */
export function settle(card) {
  readyAt.delete(card.dataset.settle);
  card.classList.remove("settling");
}

/** Whether a press that happens now began after the card had settled. */
export function settled(card) {
  const start = begun && card.contains(begun.target) ? begun.time : performance.now();
  return start >= (readyAt.get(card.dataset.settle) ?? 0);
}

const begin = (event) => {
  if (!event.repeat) begun = { target: event.target, time: performance.now() };
};
const end = () => setTimeout(() => { begun = null; });
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, begin, true);
for (const kind of ["pointercancel", "click", "keyup"]) document.addEventListener(kind, end, true);

// A key that is held down presses once.
document.addEventListener("keydown", (event) => {
  if (event.repeat && event.target instanceof HTMLButtonElement) event.preventDefault();
}, true);
