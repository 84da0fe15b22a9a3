// countersign for pi: it decides on every tool call, and a call that needs a person reaches your phone.
// `countersign connect pi` makes this file, `countersign disconnect pi` removes it.
//
// For each call this starts COMMAND, gives it the call on stdin and does what it prints. Every failure blocks
// the call and says why.

import { spawn } from "node:child_process";

const COMMAND = ["countersign","hook","pi"];

export default function countersign(pi) {
  pi.on("tool_call", async (event, ctx) => {
    try {
      const said = await hook(describe(event, ctx), ctx?.signal);
      const { block, reason } = JSON.parse(said);
      return block === false ? undefined : { block: true, reason: String(reason ?? "Denied.") };
    } catch (error) {
      return { block: true, reason: `countersign could not be asked: ${error.message}` };
    }
  });
}

function describe(event, ctx) {
  return {
    type: "tool_call",
    session: ctx?.sessionManager?.getSessionId?.() ?? `process ${process.pid}`,
    cwd: ctx?.cwd ?? process.cwd(),
    tool: event.toolName,
    input: event.input ?? {},
  };
}

/** Starts the hook with a call; what it prints. When pi interrupts the turn, the hook takes its request back. */
function hook(call, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
    const stop = () => child.kill("SIGTERM");
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    child.stdin.on("error", () => {});
    child.on("error", reject);
    child.on("close", () => {
      signal?.removeEventListener("abort", stop);
      resolve(said);
    });
    signal?.addEventListener("abort", stop, { once: true });
    child.stdin.end(JSON.stringify(call));
  });
}
