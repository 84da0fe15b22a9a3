// countersign for pi and oh-my-pi: it decides on every tool call, those of subagents too, and a call that needs a
// person reaches your phone. `countersign connect` makes this file, `countersign disconnect` removes it.
//
// For each call this starts COMMAND, gives it the call on stdin and does what it prints. Every failure blocks
// the call and says why.

import { spawn } from "node:child_process";

const COMMAND = ["countersign","hook","pi"];

/** Tools of oh-my-pi that ask the person at the terminal; they need no approval to ask. */
const OWN_DIALOGS = COMMAND[2] === "oh-my-pi" ? ["ask"] : [];

/** How long oh-my-pi waits for an answer, instead of 30 s: a day, in milliseconds. */
const LONGEST = 86_400_000;

export default function countersign(pi) {
  const waiting = new Set();
  pi.on("tool_call", async (event, ctx) => {
    try {
      if (OWN_DIALOGS.includes(event.toolName)) return undefined;
      const said = await hook(describe(event, ctx), ctx?.signal, waiting);
      const { block, reason } = JSON.parse(said);
      return block === false ? undefined : { block: true, reason: String(reason ?? "Denied.") };
    } catch (error) {
      return { block: true, reason: `countersign could not be asked: ${error.message}` };
    }
  });
  pi.on("session_start", () => {
    try {
      pi.pi?.settings?.override?.("extensionHandlers.toolCallTimeoutMs", LONGEST);
    } catch {
      // Then it blocks a call that nobody answered for 30 s.
    }
  });
  // No call waits any longer, so nobody needs to be asked about one.
  const over = () => waiting.forEach((child) => child.kill("SIGTERM"));
  pi.on("agent_end", over);
  pi.on("session_shutdown", over);
}

function describe(event, ctx) {
  return {
    type: "tool_call",
    session: ctx?.sessionManager?.getSessionId?.() ?? `process ${process.pid}`,
    cwd: ctx?.cwd ?? process.cwd(),
    tool: event.toolName,
    input: event.input ?? {},
    worker: ctx?.agent?.kind === "sub" ? ctx.agent.name : undefined,
    approval: event.approval,
  };
}

/** Starts the hook with a call; what it prints. When the turn is interrupted, the hook takes its request back. */
function hook(call, signal, waiting) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
    const stop = () => child.kill("SIGTERM");
    let said = "";
    waiting.add(child);
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    child.stdin.on("error", () => {});
    child.on("error", reject);
    child.on("close", () => {
      waiting.delete(child);
      signal?.removeEventListener("abort", stop);
      resolve(said);
    });
    signal?.addEventListener("abort", stop, { once: true });
    child.stdin.end(JSON.stringify(call));
  });
}
