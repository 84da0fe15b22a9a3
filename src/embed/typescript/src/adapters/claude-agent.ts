// Claude Agent SDK: `canUseTool`.

import type { CanUseTool, PermissionResult } from "@anthropic-ai/claude-agent-sdk";
import type { Call } from "../call.ts";
import { answerText, type Decision, textForModel } from "../decision.ts";
import { isObject } from "../decode.ts";
import { CountersignError } from "../errors.ts";
import type { Question } from "../wire.ts";
import { type Asking, callOf } from "./asking.ts";

/**
 * The callback for `query({ options: { canUseTool } })`. It waits as long as it takes. When Claude
 * gives a request up, or this process ends, the ask is cancelled.
 */
export function canUseTool(asking: Asking): CanUseTool {
  return async (tool, input, { signal, toolUseID, agentID, decisionReason, description }) => {
    const questions = tool === "AskUserQuestion" ? (input["questions"] as Question[]) : [];
    const call = callOf(asking, {
      tool,
      args: input,
      key: toolUseID,
      questions,
      accepts: questions.length > 0 ? [] : ["updated_input", "stop"],
      ...(decisionReason === undefined ? {} : { reason: decisionReason }),
      ...(description === undefined ? {} : { description }),
      ...(agentID === undefined ? {} : { meta: { agent_id: agentID } }),
    });
    try {
      return result(await asking.client.decide(call, { signal }), call, input);
    } catch (error) {
      // FAIL-CLOSED: without a decision nothing runs, and the model learns why.
      if (error instanceof CountersignError) return denied(error.message);
      throw error;
    }
  };
}

function result(
  decision: Decision,
  call: Call,
  input: Record<string, unknown>,
): PermissionResult {
  switch (decision.kind) {
    case "approved":
      // With its input: Claude Code ignores a bare allow of a plan.
      return { behavior: "allow", updatedInput: input };
    case "edited":
      if (!isObject(decision.args)) return denied("the edited arguments are no object");
      return { behavior: "allow", updatedInput: decision.args };
    case "answered": {
      const texts = (call.questions ?? []).map(({ question }) => [
        question,
        answerText(decision, question),
      ]);
      return { behavior: "allow", updatedInput: { ...input, answers: Object.fromEntries(texts) } };
    }
    case "denied": {
      const stop = decision.ending.kind === "answer" && decision.ending.stop;
      return { ...denied(textForModel(decision)), interrupt: stop };
    }
  }
}

function denied(message: string): { behavior: "deny"; message: string } {
  return { behavior: "deny", message };
}
