import { type Call, type CallFields, newCall } from "../call.ts";
import type { Client } from "../client.ts";
import type { Decision } from "../decision.ts";

/** What all adapters share: who asks, and how long people have. */
export interface Asking {
  client: Client;
  /** The agent's name, as cards show it. */
  agent: string;
  /** One conversation of it. */
  session: string;
  /** How long people have, in seconds; as the policy says where absent. */
  expiresInS?: number;
}

/** A call of this agent. */
export function callOf(asking: Asking, fields: Omit<CallFields, "agent" | "session">): Call {
  const { agent, session, expiresInS } = asking;
  const expires = expiresInS === undefined ? {} : { expires_in_s: expiresInS };
  return newCall({ agent, session, ...expires, ...fields });
}

/** Waits for a call that stays open when this process ends; its key finds it again. */
export async function kept(asking: Asking, call: Call, signal?: AbortSignal): Promise<Decision> {
  const decision = await asking.client.wait(call, signal === undefined ? {} : { signal });
  if (decision.kind === "open") throw new Error("a wait without an end ends with a decision");
  return decision;
}
