// An agent of Vercel's AI SDK whose tool calls people approve.

import { execSync } from "node:child_process";
import { generateText, stepCountIs, tool } from "ai";
import { Client } from "countersign";
import { toolApproval } from "countersign/adapters/ai";
import { z } from "zod";
import { languageModel } from "./scripted.ts"; // Put your own model in its place.

const shell_exec = tool({
  description: "Runs a command.",
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const asking = { client: new Client(), agent: "ai-sdk", session: "deploy-1" };
const { text } = await generateText({
  model: languageModel(),
  tools: { shell_exec },
  toolApproval: toolApproval(asking),
  stopWhen: stepCountIs(5),
  prompt: "deploy",
});
console.log(text);
