// History: what has been answered, from the store. Filters, a page at a time, and each request in whole.

import { $, el } from "./dom.js";
import { firstLine } from "./blocks.js";
import { latestReader } from "./line.js";
import { byWhom, pageHead, quiet, sentence } from "./parts.js";
import { drawRecord } from "./record.js";
import { back, go } from "./route.js";
import { when } from "./time.js";

const SINCE = { "": "any time", "3600000": "last hour", "86400000": "last 24 hours", "604800000": "last 7 days", "2592000000": "last 30 days" };
const VERDICTS = { "": "any verdict", allow: "allowed", deny: "denied", expired: "timed out", cancelled: "cancelled" };
const ENDS = { allow: "Allowed", deny: "Denied", expired: "Timed out", cancelled: "Cancelled" };
const WAIT = 250;

/** What the filters say; kept while the page is open elsewhere. */
const filters = {
  text: "", agent: "", person: "", folder: "", tool: "", session: "", rule: "", verdict: "", since: "",
};
const read = latestReader();
let place = 0;

export const history = { show };

async function show(part, id) {
  if (id) return await showOne(part, id);
  if (!part.querySelector(".records")) part.replaceChildren(...draw(part));
  part.scrollTop = place;
  await load(part);
}

function draw(part) {
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => load(part), WAIT);
  };
  const field = (name, label, type = "text") => {
    const node = el("input", { type, name, value: filters[name], placeholder: label, "aria-label": label, autocomplete: "off" });
    node.addEventListener("input", () => { filters[name] = node.value.trim(); changed(); });
    return node;
  };
  const choice = (name, label, options) => {
    const node = el("select", { name, "aria-label": label },
      ...Object.entries(options).map(([value, textContent]) => el("option", { value, textContent })));
    node.value = filters[name];
    node.addEventListener("change", () => { filters[name] = node.value; load(part); });
    return node;
  };
  const more = quiet("Show more", () => load(part, more.dataset.next), { className: "quiet more-records", hidden: true });
  return [el("div", { className: "wide" },
    pageHead("history", "History"),
    el("form", { className: "filters", role: "search" },
      field("text", "Search commands, reasons and notes", "search"), field("agent", "Agent"), field("person", "Person"),
      field("folder", "Folder"), field("tool", "Tool"), field("session", "Session"), field("rule", "Rule"), choice("verdict", "Verdict", VERDICTS), choice("since", "Time", SINCE)),
    el("ul", { className: "records", "aria-label": "Closed requests" }), el("div", { className: "said", role: "status" }), more)];
}

/** Reads what fits; with `before`, the page after what is there. */
async function load(part, before) {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
  if (filters.since) query.set("since", new Date(Date.now() - Number(filters.since)).toISOString());
  if (before) query.set("before", before);
  const path = query.size > 0 ? `history?${query}` : "history";
  const reply = await read(path);
  if (!reply || !part.querySelector(".records")) return;
  const { status, body } = reply;
  paint(part, status === 200 ? body : { asks: [], wrong: body.error }, before);
}

function paint(part, { asks, next, wrong }, before) {
  const list = part.querySelector(".records");
  const rows = asks.map(drawRow);
  if (before) list.append(...rows);
  else list.replaceChildren(...rows);
  if (before) rows[0]?.querySelector("a").focus();
  const more = part.querySelector(".more-records");
  more.hidden = !next;
  more.dataset.next = next ?? "";
  const nothing = list.children.length > 0 ? "" : next ? "Nothing among the latest. Older requests may fit." : "No closed request fits.";
  part.querySelector(".said").replaceChildren(...(wrong ? [sentence(wrong, "wrong")] : nothing ? [sentence(nothing)] : []));
}

function drawRow(ask) {
  const who = [ENDS[ask.verdict] ?? ask.verdict, byWhom(ask.by)].filter(Boolean).join(" · ");
  const note = ask.note ? ` · “${ask.note}”` : "";
  const stored = ask.stored?.length ? ` · stored ${ask.stored.join(", ")}` : "";
  const undone = ask.undone_by ? ` · undone by ${byWhom(ask.undone_by)}` : "";
  const link = el("a", { href: `#/history/${encodeURIComponent(ask.id)}` },
    el("span", { className: "gist" }, ask.critical ? el("span", { className: "critical", textContent: "CRITICAL " }) : null, firstLine(ask.title)),
    el("span", { className: "end" }, when(ask.closed)),
    el("span", { className: "hint", textContent: `${who}${note}${stored}${undone}` }),
    el("span", { className: "from" }, el("bdi", { textContent: [ask.agent, ask.cwd].filter(Boolean).join(" · ") })));
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    place = $("history").scrollTop;
    go(`history/${encodeURIComponent(ask.id)}`);
  });
  return el("li", { className: "item", "data-verdict": ask.verdict, "data-ask": ask.id }, link);
}

async function showOne(part, id) {
  const leave = quiet("‹ History", () => back("history"));
  part.replaceChildren(el("div", { className: "wide" }, leave, sentence("Reading…")));
  const reply = await read(`history/${id}`);
  if (!reply) return;
  const { status, body } = reply;
  const content = status === 200 ? drawRecord(body) : sentence(body.error, "wrong");
  part.replaceChildren(el("div", { className: "wide" }, leave, content));
  part.scrollTop = 0;
  content.focus?.({ preventScroll: true });
}
