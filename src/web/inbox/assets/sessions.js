// Sessions: which agents are known, where they work, and what each waits for.

import { entries, isOpen } from "./asks.js";
import { firstLine } from "./blocks.js";
import { el } from "./dom.js";
import { latestReader } from "./line.js";
import { facts, pageHead, quiet, sentence } from "./parts.js";
import { when } from "./time.js";

const read = latestReader();

export const sessions = { show };

async function show(part) {
  const reply = await read("sessions");
  if (!reply) return;
  const { status, body } = reply;
  const list = status === 200 ? body.sessions : [];
  part.replaceChildren(el("div", { className: "wide" },
    pageHead("sessions", "Sessions", quiet("Refresh", () => show(part))),
    status === 200 ? "" : sentence(body.error, "wrong"),
    status === 200 && list.length === 0 ? sentence("No agent has asked lately.") : "",
    el("ul", { className: "tiles" }, ...list.map(draw)),
    body.more ? sentence("There are further sessions; these are the latest.") : ""));
}

function draw(session) {
  const folder = session.cwd?.split("/").filter(Boolean).at(-1);
  return el("li", { className: "tile", "data-session": session.session },
    el("div", { className: "tile-head" },
      el("h3", {}, el("bdi", { textContent: session.agent }), folder ? el("bdi", { className: "project", textContent: folder }) : null),
      el("span", { className: session.open ? "badge waits" : "badge", textContent: session.open ? `${session.open} waiting` : "nothing waits" })),
    facts([
      ["Folder", session.cwd], ["Machine", session.host], ["Session", session.session],
      ["Mode", session.mode], ["Last seen", session.last_seen && when(session.last_seen)],
    ]),
    el("ul", { className: "waits-for" }, ...(session.asks ?? []).map(drawAsk)));
}

/** A request that this session waits for; it opens where this page knows it. */
function drawAsk(id) {
  const entry = [...entries.values()].find(({ card }) => card.ask === id && isOpen(card));
  return el("li", {}, entry ? el("a", { href: `#/ask/${entry.card.id}` }, firstLine(entry.card.title))
    : el("a", { href: `#/history/${encodeURIComponent(id)}`, textContent: id }));
}
