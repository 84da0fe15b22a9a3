// Who could answer: the people of the config, each with the reason why they could not.

import { el, say } from "./dom.js";
import { post, read } from "./line.js";
import { sentence } from "./parts.js";
import { unsettle } from "./settle.js";

const MARKS = { yes: ["✓", "can answer"], no: ["✗", "cannot answer"], by_role: ["·", "can answer with a role"] };
// What each ask said last: a card that is drawn anew shows it at once.
const known = new Map();
const KEPT = 50;

/** The fold of an open card that says who can answer it. It asks when it is opened. */
export function whoCanAnswer({ ask }) {
  const said = el("div", { className: "answerers-said", role: "status" });
  const node = el("details", { className: "details answerers" }, el("summary", { textContent: "Who can answer" }), said);
  node.addEventListener("toggle", async () => {
    if (!node.open) return;
    if (known.has(ask)) said.replaceChildren(...known.get(ask)());
    said.setAttribute("aria-busy", "true");
    const { status, body } = await read(`asks/${encodeURIComponent(ask)}/approvers`);
    const draw = () => (status === 200 ? drawAnswerers(body) : [sentence(body.error, "wrong")]);
    said.removeAttribute("aria-busy");
    said.replaceChildren(...draw());
    remember(ask, draw);
    // What is below has moved: nothing is pressed by accident.
    const card = node.closest("[data-settle]");
    if (card) unsettle(card);
  });
  return node;
}

/** Asks who could answer a call that nobody has made. */
export async function whoCould(call) {
  const { status, body } = await post("approvers/explain", call);
  if (status !== 200) return [sentence(body.error, "wrong")];
  if (body.verdict !== "ask") {
    const line = `Nobody is asked: your rules ${body.verdict} this.`;
    say(line);
    return [sentence(line), body.reason ? sentence(body.reason) : ""];
  }
  const able = body.people.filter(({ counts }) => counts === "yes").length;
  say(`${able} of ${body.people.length} could answer.`);
  return drawAnswerers(body);
}

/** `reply`: what both routes say. */
function drawAnswerers({ required, people, problems, shown }) {
  return [
    ...required.map((line) => el("p", { className: "note" }, words(line))),
    el("ul", { className: "answerer-list", "aria-label": "Who could answer" }, ...people.map(drawPerson)),
    ...problems.map((line) => el("p", { className: "warn" }, words(line))),
    ...shown.map((line) => el("p", { className: "note shown-at" }, words(line))),
  ];
}

function drawPerson({ who, counts, why }) {
  const [mark, meant] = MARKS[counts] ?? MARKS.no;
  return el("li", { "data-counts": counts },
    el("span", { className: "mark", "aria-hidden": "true", textContent: mark }),
    el("span", { className: "unseen", textContent: `${meant}: ` }),
    el("span", {}, words(who), why ? el("span", { className: "why-not" }, " · ", words(why)) : ""));
}

/** Names of people and rules are text, and reorder nothing around them. */
const words = (text) => el("bdi", { textContent: text });

function remember(ask, draw) {
  known.delete(ask);
  known.set(ask, draw);
  if (known.size > KEPT) known.delete(known.keys().next().value);
}
