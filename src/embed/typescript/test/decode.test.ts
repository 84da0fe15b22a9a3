import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, Odd, submitted } from "../src/decode.ts";
import { answerText, newQuestion, textForModel } from "../src/index.ts";
import type { Ending } from "../src/index.ts";
import { answered, call, OPEN, PERSON } from "./fake.ts";

const PLAIN = call({ accepts: ["updated_input", "stop"] });
const ASKING = newQuestion({ agent: "a", session: "s" }, { question: "Which?" });
const AT = "2026-11-23T00:00:00Z";
const ANSWER = { kind: "answer", ask: "a1", by: PERSON, at: AT } as const;
const NOTHING_MORE = { scope: null, note: null, stop: false, explain: false };

test("a rule, an open ask and answers are told apart", () => {
  const ruled = { verdict: "deny", reason: "no", rule: "r", message: "No." };
  const rule = { kind: "rule", rule: "r" };
  const denied = { kind: "denied", reason: "no", message: "No.", ending: rule };
  assert.deepEqual(submitted(ruled, PLAIN), denied);
  assert.deepEqual(submitted(OPEN, PLAIN), { kind: "open", ask: "a1" });
  const by = { reason: "by Ana", message: null, ending: { ...ANSWER, ...NOTHING_MORE } };
  const noted = answered("allow", "approve", { scope: "10m", reason: "well done" });
  const ending = { ...ANSWER, ...NOTHING_MORE, scope: "10m", note: "well done" };
  assert.deepEqual(submitted(noted, PLAIN), { ...by, kind: "approved", ending });
  assert.deepEqual(asked(noted, PLAIN), { ...by, kind: "approved", ending });
  const args = { command: "ls" };
  const edited = answered("edited", "edit", { updated_input: args });
  assert.deepEqual(asked(edited, PLAIN), { ...by, kind: "edited", args });
  const answers = { "Which?": ["a", "b"] };
  const said = asked(answered("answered", "answer", { answers }), ASKING);
  assert.deepEqual(said, { ...by, kind: "answered", answers });
  assert.equal(said.kind === "answered" && answerText(said, "Which?"), "a, b");
  assert.equal(said.kind === "answered" && answerText(said, "toString"), "");
  for (const state of ["expired", "cancelled"]) {
    const view = { id: "a1", state, verdict: "deny", reason: "nobody" };
    const ending = { kind: state, ask: "a1" };
    const denied = { kind: "denied", reason: "nobody", message: null, ending };
    assert.deepEqual(asked(view, PLAIN), denied);
  }
});

test("no reply but a plain allow is an approval", () => {
  const nobody = { decision: "approve", at: "T", by: { kind: "timeout" } };
  const closed = { ask: "a1", id: "a1", state: "answered" };
  for (const reply of [
    {},
    { verdict: true },
    { verdict: "Allow" },
    { verdict: ["allow"] },
    { verdict: "ask" },
    { verdict: "ask", ask: 5 },
    { verdict: "ask", ask: "a1", state: "answered" },
    { verdict: "allow", ask: "a1", state: "open" },
    { verdict: "allow", ask: "a1", state: "cancelled" },
    { verdict: "allow", ask: "a1", state: "new" },
    { verdict: "allow", ask: "a1", state: ["answered"] },
    { verdict: "allow", ...closed },
    { verdict: "allow", ...closed, answer: [] },
    { verdict: "allow", ...closed, answer: { ...nobody, by: { kind: "me" } } },
    { verdict: "allow", ...closed, answer: { ...nobody, by: { kind: "toString" } } },
    { verdict: "allow", ...closed, answer: { ...nobody, by: { kind: "person" } } },
    { verdict: "allow", ...closed, answer: { ...nobody, decision: "yes" } },
    { verdict: "allow", ...closed, answer: { ...nobody, stop: "no" } },
    { verdict: "allow", ...closed, answer: { ...nobody, answers: { q: "Deny" } } },
    { verdict: "allow", ...closed, answer: { ...nobody, updated_input: {} } },
    { verdict: "allow", reason: 5 },
    { verdict: "answered", reason: "r" },
    { verdict: "answered", ...closed, answer: { ...nobody, answers: { q: 5 } } },
    { verdict: "answered", ...closed, answer: { ...nobody, answers: { q: "Deny" } } },
    { verdict: "answered", ask: "a1", state: "expired" },
    { verdict: "edited", reason: "r" },
    { verdict: "edited", ...closed, answer: { ...nobody, decision: "edit" } },
  ]) {
    assert.throws(() => submitted(reply, PLAIN), Odd, JSON.stringify(reply));
  }
});

test("a decision that does not fit its call is an error", () => {
  const edited = answered("edited", "edit", { updated_input: { command: "ls" } });
  assert.throws(() => asked(edited, call()), Odd);
  assert.throws(() => asked(answered("allow", "approve"), ASKING), Odd);
  const said = answered("answered", "answer", { answers: { "Which?": "a" } });
  assert.throws(() => asked(said, PLAIN), Odd);
});

test("the text for the model names the rule once", () => {
  const text = (reason: string, ending: Ending, message: string | null = null): string =>
    textForModel({ kind: "denied", reason, ending, message });
  const rule = { kind: "rule", rule: "Bash(rm *)" } as const;
  assert.equal(text("denied by your rule", rule), "denied by your rule (Bash(rm *))");
  assert.equal(text("denied by Bash(rm *)", rule), "denied by Bash(rm *)");
  assert.equal(text("by Ana: not today", { kind: "expired", ask: "a" }), "by Ana: not today");
  assert.equal(text("r", rule, "Use pnpm."), "Use pnpm.");
  assert.equal(text("", { kind: "rule", rule: null }), "denied");
});
