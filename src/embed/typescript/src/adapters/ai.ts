// Vercel's AI SDK 7: `toolApproval`.

import type { GenericToolApprovalFunction, ToolSet } from "ai";
import { textForModel } from "../decision.ts";
import { type Asking, callOf } from "./asking.ts";

/**
 * The `toolApproval` of `generateText`, `streamText` and agents: every tool call passes the rules,
 * and those that need a person wait for one. When the signal is aborted, the ask is cancelled.
 */
export function toolApproval(
  asking: Asking,
  signal?: AbortSignal,
): GenericToolApprovalFunction<ToolSet, any, any> {
  return async ({ toolCall }) => {
    // The SDK runs the model's own arguments, so an edit is not offered.
    const call = callOf(asking, {
      tool: toolCall.toolName,
      args: toolCall.input,
      key: toolCall.toolCallId,
    });
    const decision = await asking.client.decide(call, { signal });
    // FAIL-CLOSED: an error ends the run, and everything but an approval is a denial.
    if (decision.kind === "approved") return { type: "approved", reason: decision.reason };
    const reason = decision.kind === "denied" ? textForModel(decision) : decision.reason;
    return { type: "denied", reason };
  };
}
