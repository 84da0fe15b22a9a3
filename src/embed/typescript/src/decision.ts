import type { By } from "./wire.ts";

/** How a call came to be decided. */
export type Ending =
  /** Policy decided at once and nobody was asked. */
  | { kind: "rule"; rule: string | null }
  | Answer
  /** Nobody answered in time. */
  | { kind: "expired"; ask: string }
  /** The ask was cancelled. */
  | { kind: "cancelled"; ask: string };

/** A person answered, or a new grant covered the call. */
export interface Answer {
  kind: "answer";
  ask: string;
  /** Who decided. Only `kind: "person"` is somebody. */
  by: By;
  at: string;
  /** What an approval covers. */
  scope: string | null;
  /** The approver's own words for the agent. */
  note: string | null;
  /** Whether the agent ends its turn. */
  stop: boolean;
  /** Whether the agent explains itself and does not try again. */
  explain: boolean;
}

interface Decided {
  /** Who decided and why, as one sentence that starts in lower case. */
  reason: string;
  /** The text for the agent's model, where its system has one. */
  message: string | null;
  ending: Ending;
}

/** The call may run with the arguments that were submitted. */
export type Approved = Decided & { kind: "approved" };

/** The call may run with these arguments instead, and only with these. */
export type Edited = Decided & { kind: "edited"; args: unknown };

/** Questions have their answers, by question. Nothing may run because of that. */
export type Answered = Decided & { kind: "answered"; answers: Record<string, string | string[]> };

/** The call may not run; or the questions are not answered. */
export type Denied = Decided & { kind: "denied" };

/** What became of a call. Only `approved` and `edited` let anything run. */
export type Decision = Approved | Edited | Answered | Denied;

/** Nobody has decided yet. The ask stays open; its key finds it again. */
export interface StillOpen {
  kind: "open";
  ask: string;
}

/** Why a call did not run, for the agent's model. */
export function textForModel(denied: Denied): string {
  if (denied.message !== null) return denied.message;
  const rule = denied.ending.kind === "rule" ? denied.ending.rule : null;
  if (rule !== null && !denied.reason.includes(rule)) return `${denied.reason} (${rule})`;
  return denied.reason || "denied";
}

/** The answer to one question as one text. */
export function answerText(answered: Answered, question: string): string {
  // An own key only: a question may be called like a method of objects.
  const answer = Object.hasOwn(answered.answers, question) ? answered.answers[question] : "";
  return Array.isArray(answer) ? answer.join(", ") : (answer ?? "");
}
