// Interprets the API's replies, so that only a plain "allow" approves a call.

import type { Call } from "./call.ts";
import type { Answer, Decision, Ending, StillOpen } from "./decision.ts";
import type { By } from "./wire.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Why a reply cannot be understood. */
export class Odd extends Error {}

const BY: Record<By["kind"], string[]> = {
  person: ["platform", "id", "name"],
  policy: ["grant"],
  timeout: [],
  no_approver: [],
  caller: [],
};

/** Reads the reply to `POST /v1/calls`. */
export function submitted(reply: Json, call: Call): Decision | StillOpen {
  const [verdict, state] = [text(reply, "verdict"), optional(reply, "state", "string")];
  const ask = optional(reply, "ask", "string");
  if (verdict === "ask") {
    if (state !== null && state !== "open") throw new Odd("a closed ask whose verdict is to ask");
    if (ask === null) throw new Odd("an ask without an id");
    return { kind: "open", ask };
  }
  if (state === null) {
    const rule = optional(reply, "rule", "string");
    return checked(decision(reply, { kind: "rule", rule }), call);
  }
  const decided = closed(reply, ask ?? "", state);
  if (decided === null) throw new Odd("an open ask that is decided");
  return checked(decided, call);
}

/** Reads the reply to `GET /v1/asks/ID`. */
export function asked(view: Json, call: Call): Decision | StillOpen {
  const ask = text(view, "id");
  const decided = closed(view, ask, text(view, "state"));
  return decided === null ? { kind: "open", ask } : checked(decided, call);
}

/** Whether this is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function closed(reply: Json, ask: string, state: string): Decision | null {
  switch (state) {
    case "open":
      return null;
    case "answered":
      return decision(reply, answer(reply, ask));
    case "expired":
    case "cancelled":
      return decision(reply, { kind: state, ask });
    default:
      throw new Odd(`an ask in the unknown state ${JSON.stringify(state)}`);
  }
}

/** The decision of a closed ask or of a rule. */
function decision(reply: Json, ending: Ending): Decision {
  const verdict = text(reply, "verdict");
  const reason = optional(reply, "reason", "string") ?? "";
  const decided = { reason, message: optional(reply, "message", "string"), ending };
  const given = ending.kind === "answer" && isObject(reply["answer"]) ? reply["answer"] : {};
  const [answers, args] = [given["answers"] ?? null, given["updated_input"] ?? null];
  // FAIL-CLOSED: a reply that contradicts itself is an error: no field of it can be trusted.
  switch (verdict) {
    case "allow":
      if (ending.kind === "cancelled") throw new Odd("a cancelled ask that is approved");
      if (answers !== null) throw new Odd("an approval that carries answers to questions");
      if (args !== null) throw new Odd("an approval that carries other arguments");
      return { kind: "approved", ...decided };
    case "deny":
      return { kind: "denied", ...decided };
    case "answered":
      return { kind: "answered", ...decided, answers: texts(answers) };
    case "edited":
      if (args === null) throw new Odd("a changed call without its arguments");
      return { kind: "edited", ...decided, args };
    default:
      throw new Odd(`the unknown verdict ${JSON.stringify(verdict)}`);
  }
}

/** Checks that the decision fits what was asked. */
// FAIL-CLOSED: answers to questions never let a call run, and an approval never answers one.
function checked(decision: Decision, call: Call): Decision {
  const asks = (call.questions ?? []).length > 0;
  switch (decision.kind) {
    case "answered":
      if (!asks) throw new Odd("answers, though nothing was asked");
      return decision;
    case "approved":
      if (asks) throw new Odd("an approval, though a question was asked");
      return decision;
    case "edited":
      if (!(call.accepts ?? []).includes("updated_input")) {
        throw new Odd("a changed call, though its caller accepts none");
      }
      if (asks) throw new Odd("a changed call, though a question was asked");
      return decision;
    case "denied":
      return decision;
  }
}

function answer(reply: Json, ask: string): Answer {
  const given = reply["answer"];
  if (!isObject(given)) throw new Odd("an answered ask without answer");
  if (!["approve", "answer", "edit", "deny"].includes(text(given, "decision"))) {
    throw new Odd("an answer of an unknown kind");
  }
  return {
    kind: "answer",
    ask,
    by: by(given["by"]),
    at: text(given, "at"),
    scope: optional(given, "scope", "string"),
    note: optional(given, "reason", "string"),
    stop: optional(given, "stop", "boolean") ?? false,
    explain: optional(given, "explain", "boolean") ?? false,
  };
}

function by(value: unknown): By {
  const kind = isObject(value) ? value["kind"] : undefined;
  if (!isObject(value) || typeof kind !== "string" || !Object.hasOwn(BY, kind)) {
    throw new Odd("an answer of nobody");
  }
  const fields = BY[kind as By["kind"]].map((name) => [name, text(value, name)]);
  return { kind, ...Object.fromEntries(fields) } as By;
}

function texts(answers: unknown): Record<string, string | string[]> {
  if (!isObject(answers)) throw new Odd("an answered question without its answers");
  for (const answer of Object.values(answers)) {
    const labels: unknown[] = Array.isArray(answer) ? answer : [answer];
    if (labels.some((label) => typeof label !== "string")) {
      throw new Odd("an answer that is no text");
    }
  }
  return answers as Record<string, string | string[]>;
}

function text(reply: Json, key: string): string {
  const value = own(reply, key);
  if (typeof value !== "string") throw new Odd(`\`${key}\` is missing or no text`);
  return value;
}

function optional(reply: Json, key: string, kind: "string"): string | null;
function optional(reply: Json, key: string, kind: "boolean"): boolean | null;
function optional(reply: Json, key: string, kind: string): unknown {
  const value = own(reply, key) ?? null;
  if (value !== null && typeof value !== kind) throw new Odd(`\`${key}\` is no ${kind}`);
  return value;
}

function own(reply: Json, key: string): unknown {
  return Object.hasOwn(reply, key) ? reply[key] : undefined;
}
