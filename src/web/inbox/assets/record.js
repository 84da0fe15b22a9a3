// One request of the store in whole: the card, who answered when and through what, and where it was shown.

import { drawBlock, firstLine, fit } from "./blocks.js";
import { el } from "./dom.js";
import { byWhom, facts } from "./parts.js";
import { exact, when } from "./time.js";

const STATES = { open: "Still open", answered: "Answered", expired: "Timed out", cancelled: "Cancelled" };
// As their buttons are called.
const SCOPES = { once: "Once", session: "Session", always: "Always", exact: "Always exactly this",
  always_prefix: "Always this prefix", "10m": "10 min", "24h": "24 h" };
const VERDICTS = { allow: "Allowed", deny: "Denied", edited: "Allowed as edited", answered: "Answered" };

/** `record`: an answer of `history/ID`. */
export function drawRecord(record) {
  const { card, call, answer = {}, deliveries = [] } = record;
  const node = el("article", { className: "record", tabIndex: -1, "data-tone": card.tone, "aria-labelledby": "history-title" },
    el("h2", { id: "history-title" },
      record.critical ? el("span", { className: "critical", textContent: "CRITICAL " }) : null, firstLine(card.title)),
    el("p", { className: "origin" }, el("bdi", { textContent: card.origin })),
    ...opened(card.blocks).map((block) => drawBlock(block, card)),
    el("h3", { textContent: "Answer" }),
    facts([
      ["Verdict", record.state === "answered" ? VERDICTS[record.verdict] ?? record.verdict : STATES[record.state]],
      ["By", byWhom(answer.by)],
      ["Through", record.through],
      ["Asked", exactly(record.created)],
      ["Closed", record.closed && exactly(record.closed)],
      ["Scope", SCOPES[answer.scope] ?? answer.scope],
      ["Reason", record.reason],
      ["Note", answer.reason],
      ["Stored", (record.stored ?? []).join("\n")],
      ["Undone by", byWhom(record.undone_by)],
      ["Asked because", record.why],
    ]),
    el("h3", { textContent: "Shown in" }),
    deliveries.length === 0 ? el("p", { className: "note", textContent: "No chat and no inbox." })
      : el("ul", { className: "places" }, ...deliveries.map(drawDelivery)),
    el("h3", { textContent: "Call" }),
    drawBlock({ kind: "code", label: "", text: JSON.stringify(call, null, 2) }),
    facts([["Id", record.id], ["Digest", record.digest]]));
  requestAnimationFrame(() => fit(node));
  return node;
}

/** The blocks with nothing folded away: a person who opens this wants to see it all. */
const opened = (blocks) => blocks.flatMap((block) => (block.kind === "details" ? block.blocks : [block]));

/** A moment both ways: a finger cannot hover for the exact one. */
const exactly = (time) => el("span", {}, when(time), ` (${exact(Date.parse(time))})`);

function drawDelivery({ adapter, target, shown, held, gone }) {
  const what = shown ? "delivered" : gone ? `given up: ${gone}` : held ? `not delivered: ${held}` : "not delivered";
  return el("li", { "data-shown": shown },
    el("bdi", { textContent: adapter === target ? adapter : `${adapter} ${target}` }), ` · ${what}`);
}
