// Draws a card: what is asked, and below it the bar with what can be pressed.

import { whoCanAnswer } from "./answerers.js";
import { isOpen } from "./asks.js";
import { drawBlock, firstLine, folded } from "./blocks.js";
import { drawButtons } from "./buttons.js";
import { el } from "./dom.js";
import { when } from "./time.js";

/** An open card, or one that has been closed. `act(button, text)` presses. */
export function drawCard(entry, act) {
  const { card, since, closed } = entry;
  const open = isOpen(card);
  const timed = open && card.deadline !== null;
  const { content, near } = split(folded(entry));
  const outcome = open ? null : near.find(({ kind }) => kind === "outcome");
  return el("article", {
    className: "card", tabIndex: 0, "data-tone": card.tone, "data-id": card.id, "data-settle": card.id,
    "aria-labelledby": `t-${card.id}`,
  },
  timed ? el("div", { className: "sand" }, el("div")) : "",
  el("div", { className: "matter" },
    el("div", { className: "head" }, el("h2", { id: `t-${card.id}` }, ...critical(card), firstLine(card.title))),
    card.worst ? el("p", { className: "note", textContent: card.worst }) : "",
    el("p", { className: "origin" },
      el("bdi", { textContent: card.origin }),
      since ? el("span", {}, open ? " · asked " : " · ", when(closed ?? since)) : null,
      timed ? el("span", { className: "left", role: "timer" }) : null),
    outcome ? drawBlock(outcome, card) : "",
    ...content.map((block) => drawBlock(block, card)),
    open ? whoCanAnswer(card) : "",
    el("div", { className: "foot", id: `n-${card.id}` },
      ...near.filter((block) => block !== outcome).map((block) => drawBlock(block, card)))),
  el("div", { className: "bar" },
    el("p", { className: "receipt", hidden: true }), ...drawButtons(card, act)));
}

const critical = ({ tone }) => tone === "critical" ? [el("span", { className: "critical", textContent: "🛑 CRITICAL" }), " "] : [];

/** What is right above the buttons: the closing notes, such as what Always stores. */
function split(blocks) {
  const near = [];
  const content = [...blocks];
  while (["note", "outcome"].includes(content.at(-1)?.kind)) near.unshift(content.pop());
  return { content, near };
}
