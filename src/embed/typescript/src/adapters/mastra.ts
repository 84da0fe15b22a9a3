// Mastra: tools with `requireApproval`, and agents with `requireToolApproval`.

import type { Agent } from "@mastra/core/agent";
import { textForModel } from "../decision.ts";
import { type Asking, callOf, kept } from "./asking.ts";

/** What this adapter reads of a run's output. */
export interface MastraOutput {
  finishReason?: string | undefined;
  runId?: string | undefined;
  suspendPayload?: unknown;
}

/**
 * Answers the approvals of a run until none is left; `output` is what `agent.generate` returned. A
 * run that Mastra has stored goes on after a restart with the same asks.
 */
export async function answerApprovals<Output extends MastraOutput>(
  agent: Agent<any, any, any, any>,
  output: Output,
  asking: Asking,
): Promise<Output> {
  let now = output;
  while (now.finishReason === "suspended") {
    const { runId, suspendPayload: pending } = now;
    if (runId === undefined || !isApproval(pending)) {
      throw new Error("the run waits for something else than an approval; resume it yourself");
    }
    const { toolCallId, toolName, args } = pending;
    // Mastra runs the model's own arguments, so an edit is not offered.
    const call = callOf(asking, { tool: toolName, args, key: `${runId} ${toolCallId}` });
    const decision = await kept(asking, call);
    // FAIL-CLOSED: everything but an approval is a denial.
    const reason = decision.kind === "denied" ? textForModel(decision) : decision.reason;
    const resumed =
      decision.kind === "approved"
        ? agent.approveToolCallGenerate({ runId, toolCallId })
        : agent.declineToolCallGenerate({ runId, toolCallId, reason });
    now = (await resumed) as unknown as Output;
  }
  return now;
}

interface Approval {
  toolCallId: string;
  toolName: string;
  args: unknown;
}

function isApproval(pending: unknown): pending is Approval {
  if (typeof pending !== "object" || pending === null) return false;
  const { toolCallId, toolName } = pending as Partial<Approval>;
  return typeof toolCallId === "string" && typeof toolName === "string" && "args" in pending;
}
