import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Question, SubmitRequest } from "./wire.ts";

/**
 * A call of a tool, or a question, as it is submitted.
 *
 * The same `key` of one agent and session is the same ask: keep the key (a framework's own id of
 * the tool call serves well), and a restart of this program finds the ask, or its answer, again.
 */
export type Call = Omit<SubmitRequest, "session_secret" | "options" | "key"> & { key: string };

/** A call without what `newCall` fills in. */
export type CallFields = Omit<Call, "key"> & { key?: string };

/** A random idempotency key. */
export function freshKey(): string {
  return randomBytes(16).toString("base64url");
}

/** A call of a tool, with a fresh key, this folder and this machine where it names no others. */
export function newCall(fields: CallFields): Call {
  return { cwd: process.cwd(), host: hostname(), ...fields, key: fields.key ?? freshKey() };
}

/** A call that only asks a person something. Its decision is `answered` or `denied`. */
export function newQuestion(
  fields: { agent: string; session: string; key?: string },
  ...questions: Question[]
): Call {
  return newCall({ ...fields, tool: "ask_user", args: {}, questions });
}
