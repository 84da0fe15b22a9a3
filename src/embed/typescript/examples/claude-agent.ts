// Claude Code, run by its Agent SDK, whose tool calls people approve.

import { query, type SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import { Client } from "countersign";
import { canUseTool } from "countersign/adapters/claude-agent";

const asking = { client: new Client(), agent: "claude-sdk", session: "deploy-1" };
let finish = (): void => {};
const ended = new Promise<void>((resolve) => (finish = resolve));

async function* prompt(): AsyncGenerator<SDKUserMessage> {
  const message = { role: "user", content: "deploy" } as const;
  yield { type: "user", message, parent_tool_use_id: null, session_id: "" };
  // The input stays open until the end, because permission requests come over the same pipes.
  await ended;
}

const options = { canUseTool: canUseTool(asking) };
for await (const message of query({ prompt: prompt(), options })) {
  if (message.type !== "result") continue;
  console.log(message.subtype === "success" ? message.result : message.subtype);
  finish();
}
