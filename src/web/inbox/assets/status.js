// Status: the chats, the store, who leads, what is late, and what is wrong, with its fix.

import { el } from "./dom.js";
import { latestReader } from "./line.js";
import { byWhom, counted, facts, pageHead, quiet, sentence } from "./parts.js";
import { when } from "./time.js";

const STATES = { up: "working", starting: "starting", standby: "another daemon leads", down: "not working" };
const read = latestReader();

export const status = { show };

async function show(part) {
  const reply = await read("status");
  if (!reply) return;
  const { status: code, body } = reply;
  const known = code === 200 || (code === 503 && body.version !== undefined);
  part.replaceChildren(el("div", { className: "wide" },
    pageHead("status", "Status", quiet("Refresh", () => show(part))),
    ...(known ? draw(body) : [sentence(body.error, "wrong")])));
}

function draw(body) {
  const problems = [...(body.problems ?? []), ...broken("The store", body.store), ...broken("The rules", body.rules),
    ...(body.log_key ? [`The key of the log: ${body.log_key.problem}. Fix: ${body.log_key.fix}`] : [])];
  const all = problems.length === 0 && !body.stopping;
  return [
    el("p", { className: all ? "verdict good" : "verdict bad", role: "status",
      textContent: body.stopping ? "countersign is stopping." : all ? "Everything works." : counted(problems.length, "problem") }),
    problems.length > 0 ? el("ul", { className: "problems" }, ...problems.map((text) => el("li", { textContent: text }))) : "",
    ...(body.notes ?? []).map((text) => el("p", { className: "warn", textContent: text })),
    body.paused ? el("p", { className: "warn" }, `Paused by ${byWhom(body.paused.by) ?? "somebody"}: `,
      body.paused.mode === "hold" ? "calls wait. " : "calls are denied. ", body.paused.since ? when(body.paused.since) : "") : "",
    el("h3", { textContent: "Chats" }),
    el("ul", { className: "tiles" }, ...Object.entries(body.adapters ?? {}).map(drawAdapter)),
    ...late(body.late ?? []),
    el("h3", { textContent: "Daemon" }),
    facts([
      ["Version", body.version], ["Name", body.daemon],
      ["Store", stateOf(body.store)], ["Shared store", body.shared === undefined ? undefined : body.shared ? "yes" : "no"],
      ["Rules", stateOf(body.rules)],
      ["Waiting", body.waiting && counted(body.waiting.asks, "request")],
      ["Oldest", body.waiting?.oldest && when(body.waiting.oldest)],
      ["Agents connected", body.waiting?.callers === undefined ? undefined : String(body.waiting.callers)],
      ["Clock ahead", body.clock_ahead_ms ? `${body.clock_ahead_ms} ms` : undefined],
    ]),
  ];
}

function drawAdapter([name, { state, detail, since, leader }]) {
  return el("li", { className: "tile", "data-adapter": name },
    el("div", { className: "tile-head" }, el("h3", { textContent: name }),
      el("span", { className: `badge ${state}`, textContent: STATES[state] ?? state })),
    detail ? el("p", { className: "warn", textContent: detail }) : "",
    facts([["Since", since && when(since)], ["Led by", leader?.holder]]));
}

function late(all) {
  if (all.length === 0) return [];
  return [el("h3", { textContent: "Late cards" }), el("ul", { className: "problems" }, ...all.map(({ adapter, target, cards, since }) =>
    el("li", {}, `${counted(cards, "card")} for ${adapter} ${target}, since `, when(since))))];
}

const stateOf = (state) => (state === undefined ? undefined : typeof state === "string" ? (state === "up" ? "working" : state) : "not working");

function broken(name, state) {
  if (state === undefined || typeof state === "string") return [];
  return [[`${name}: ${state.problem}`, state.fix].filter(Boolean).join(" Fix: ")];
}
