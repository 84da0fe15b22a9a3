// The parts of the page's modules that need no browser: `node --test 'src/web/tests/modules/*.test.mjs'`.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { entries, receive, urgency } from "../../inbox/assets/asks.js";
import { foldList } from "../../inbox/assets/folding.js";
import { shape } from "../../inbox/assets/keep.js";
import { localised, long, now, setNow, span } from "../../inbox/assets/time.js";
import { signOf, verdictOf } from "../../inbox/assets/verdict.js";

const card = (id, more = {}) => ({
  id, ask: id, revision: 1, tone: "open", title: `make ${id}`, origin: "codex · api on mill",
  blocks: [], buttons: [[{ label: "Approve", style: "approve", token: `${id}.1.a` }]], deadline: null, ...more,
});
const entry = (id, more = {}) => ({ card: card(id, more), group: more.tone === "critical" ? "critical" : "codex · api on mill", since: 0 });
const closed = (tone, text, blocks = []) => card("one", { tone, blocks: [{ kind: "outcome", text }, ...blocks] });

afterEach(() => entries.clear());

test("the same call again is one row, and what is critical or asks has its own", () => {
  const question = { title: "Which?", buttons: [[{ label: "A", style: "choice", token: "q.1.c0" }]] };
  const same = { title: "make all" };
  const list = [entry("a", { tone: "critical", ...same }), entry("b", { tone: "critical", ...same }),
    entry("c", same), entry("d", same), entry("e"), entry("f", question), entry("g", question)];
  const rows = foldList(list, new Set()).map(({ key, count, rows }) => [key, count, rows.map(({ ids }) => ids)]);
  assert.deepEqual(rows, [
    ["critical", 2, [["a"], ["b"]]],
    ["codex · api on mill", 5, [["c", "d"], ["e"], ["f"], ["g"]]],
  ]);
});

test("of more than eight the six most urgent are shown, until somebody wants all", () => {
  const list = (many) => Array.from({ length: many }, (_, at) => entry(`n${at}`));
  const shown = (many, opened = []) => foldList(list(many), new Set(opened)).map(({ rows, hidden }) => [rows.length, hidden.length]);
  assert.deepEqual(shown(8), [[8, 0]]);
  assert.deepEqual(shown(9), [[6, 3]]);
  assert.deepEqual(shown(9, ["codex · api on mill"]), [[9, 0]]);
  const critical = Array.from({ length: 9 }, (_, at) => entry(`c${at}`, { tone: "critical" }));
  assert.deepEqual(foldList(critical, new Set()).map(({ hidden }) => hidden), [[]]);
});

test("critical comes first, then what has the least time, then what came first", () => {
  const one = (id, group, until, since) => ({ card: { id }, group, until, since });
  const all = [one("late", "a", 9, 0), one("open", "a", null, 0), one("new", "a", 5, 2), one("old", "a", 5, 1), one("worst", "critical", 99, 9)];
  assert.deepEqual(all.sort(urgency).map(({ card }) => card.id), ["worst", "old", "new", "late", "open"]);
});

test("a card that comes again is the same, and one that closes lingers", () => {
  const came = (more) => receive({ card: card("one", more), since: 1, closed: null, folded: {} }, (what) => what()).what;
  assert.deepEqual([came(), came(), came({ revision: 2, title: "make two" }), came({ revision: 3, tone: "denied" })],
    ["new", "same", "changed", "closed"]);
  clearTimeout(entries.get("one").timer);
});

test("a large card's text is kept when only its stub comes again", () => {
  const came = (more) => receive({ card: card("one", more), since: 1, closed: null, folded: {} }, () => {}).what;
  const blocks = [{ kind: "code", label: "", text: "x" }];
  assert.deepEqual([came({ blocks, revision: 4 }), came({ revision: 0 })], ["new", "same"]);
  assert.deepEqual(entries.get("one").card.blocks, blocks);
});

test("every verdict is said in words and a sign, whoever answered", () => {
  const question = { kind: "details", blocks: [{ kind: "quote", label: "question", text: "Which?" }] };
  const said = [
    closed("approved", "Ana, 12:03 UTC"), closed("approved", "approved with a change by Ana, 12:03 UTC"),
    closed("approved", "SQLite · Ana, 12:03 UTC", [question]), closed("denied", "denied by Ana, 12:03 UTC"),
    closed("expired", "expired, 12:03 UTC"), closed("expired", "The deny is the rule, 12:03 UTC"), closed("cancelled", "cancelled at 12:03 UTC"),
    closed("denied", "Approved by nobody"), card("one", { tone: "approved" }),
  ].map(verdictOf).map(({ sign, words }) => `${sign} ${words}`);
  assert.deepEqual(said, [
    "✓ Approved · Ana, 12:03 UTC", "✓ Approved with a change by Ana, 12:03 UTC", "✓ Answered · SQLite · Ana, 12:03 UTC",
    "✗ Denied by Ana, 12:03 UTC", "⌛ Expired, 12:03 UTC", "⌛ Timed out · The deny is the rule, 12:03 UTC",
    "– Cancelled at 12:03 UTC", "✗ Denied · Approved by nobody", "✓ Approved",
  ]);
});

test("a receipt has the sign of what came of the press", () => {
  const signs = [["applied", "Approved once."], ["applied", "Denied."], ["not_allowed", "You may not."], ["expired", "Too late."], ["sending", "…"]];
  assert.deepEqual(signs.map(([outcome, sentence]) => signOf({ outcome, sentence })), ["✓", "✗", "⚠", "⌛", ""]);
});

test("times that the daemon wrote in its zone are shown in this browser's", () => {
  const ahead = -new Date().getTimezoneOffset();
  const local = new Intl.DateTimeFormat("en", {
    hour: "numeric", minute: "2-digit", hour12: new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hour12,
  });
  assert.equal(localised("Ana, 12:03 CEST"), "Ana, 12:03 CEST", "before the daemon has said its zone");
  setNow(Date.now(), { name: "CEST", minutes: ahead - 90 });
  const at = (hours, minutes) => local.format(new Date(2000, 0, 2, hours, minutes));
  assert.equal(localised("Ana, 12:03 CEST · until 23:00 CEST"), `Ana, ${at(13, 33)} · until ${at(0, 30)}`);
  assert.equal(localised("at 12:03 CET, 12:03 CESTX and 12:03"), "at 12:03 CET, 12:03 CESTX and 12:03");
  setNow(Date.now(), { name: "+03", minutes: ahead });
  assert.equal(localised("Ana, 09:05 +03"), `Ana, ${at(9, 5)}`);
});

test("the daemon's clock counts, and a length of time is said as people say it", () => {
  setNow(Date.now() + 60_000);
  assert.ok(Math.abs(now() - Date.now() - 60_000) < 1_000);
  assert.deepEqual([span(299_001), span(3_600_000), span(90_000_000)], ["5:00", "1:00:00", "1 d 1 h"]);
  assert.deepEqual([long(400), long(300_000), long(7_200_000), long(300_000_000)], ["1 s", "5 min", "2 h", "3 d"]);
});

test("another tick is the same picture, and another label is not", () => {
  const button = (label, style) => card("q", { buttons: [[{ label, style, token: "q" }]] });
  assert.equal(shape(button("A", "choice")), shape(button("A", "chosen")));
  assert.notEqual(shape(button("A", "choice")), shape(button("B", "choice")));
});
