// OpenAI Agents SDK: tools with `needsApproval`.

import { type Agent, run, RunState, type RunToolApprovalItem } from "@openai/agents";
import { textForModel } from "../decision.ts";
import { type Asking, callOf, kept } from "./asking.ts";

type State = RunState<any, Agent<any, any>>;

/**
 * Runs an agent and answers its interruptions until none is left. `save` receives the state as text
 * before anybody is asked; `loadState` makes it a state again, with which this goes on after a
 * restart.
 */
export async function runApproved(
  agent: Agent<any, any>,
  start: string | State,
  asking: Asking,
  save?: (state: string) => void,
) {
  let result = await run(agent, start);
  while (result.interruptions.length > 0) {
    const state = result.state as State;
    save?.(state.toString());
    await Promise.all(result.interruptions.map((item) => answer(state, item, asking)));
    result = await run(agent, state);
  }
  return result;
}

/** A state that was saved. */
export async function loadState(agent: Agent<any, any>, text: string): Promise<State> {
  return RunState.fromString(agent, text);
}

async function answer(state: State, item: RunToolApprovalItem, asking: Asking): Promise<void> {
  const raw = item.rawItem;
  const key = "callId" in raw && typeof raw.callId === "string" ? raw.callId : "";
  if (key === "") {
    // FAIL-CLOSED: without an id another call could get this one's answer.
    state.reject(item, { message: "the call has no id, so nobody can be asked" });
    return;
  }
  // The SDK runs the model's own arguments, so an edit is not offered.
  const args = parsed("arguments" in raw ? raw.arguments : undefined);
  const decision = await kept(asking, callOf(asking, { tool: item.name ?? "unknown", args, key }));
  if (decision.kind === "approved") {
    state.approve(item);
    return;
  }
  const message = decision.kind === "denied" ? textForModel(decision) : decision.reason;
  state.reject(item, { message });
}

/** The arguments as they are; what is no JSON is shown as text. */
function parsed(text: unknown): unknown {
  if (typeof text !== "string") return {};
  try {
    return JSON.parse(text || "{}");
  } catch {
    return { arguments: text };
  }
}
