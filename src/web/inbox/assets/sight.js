// SECURITY: the buttons are always in reach, the end of a long request is not. Nothing is approved before
// its end has been in sight.

import { $ } from "./dom.js";

// Less than a line below is no text.
const LINE = 24;
const parent = $("detail");
const seen = new WeakSet();

parent.addEventListener("scroll", look, { passive: true });

/** Takes note of whether the end of what is shown is in sight. */
export function look() {
  const node = parent.firstElementChild;
  if (!node || parent.clientHeight === 0) return;
  const below = parent.scrollHeight - parent.scrollTop - parent.clientHeight;
  if (below < LINE) seen.add(node);
  node.classList.toggle("hides", below >= LINE);
}

/** Whether the end of a card was in sight; if not, it is now. */
export function endWasSeen(node) {
  look();
  if (seen.has(node)) return true;
  parent.scrollTop = parent.scrollHeight;
  return false;
}

/** A card is drawn anew, and says the same. */
export function sameAs(old, node) {
  if (seen.has(old)) seen.add(node);
}
