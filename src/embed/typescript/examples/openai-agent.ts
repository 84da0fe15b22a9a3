// An agent of OpenAI's SDK whose commands people approve. Run it again after it was killed.

import { execSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, setTracingDisabled, tool } from "@openai/agents";
import { Client } from "countersign";
import { loadState, runApproved } from "countersign/adapters/openai-agents";
import { z } from "zod";
import { OpenAIModel } from "./scripted.ts"; // Put your own model in its place.

const SAVED = "agent.json";

setTracingDisabled(true);
const shell_exec = tool({
  name: "shell_exec",
  description: "Runs a command.",
  parameters: z.object({ command: z.string() }),
  needsApproval: true,
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const agent = new Agent({ name: "deployer", model: new OpenAIModel(), tools: [shell_exec] });
const asking = { client: new Client(), agent: "openai", session: "deploy-1" };
const start = existsSync(SAVED) ? await loadState(agent, readFileSync(SAVED, "utf8")) : "deploy";
const result = await runApproved(agent, start, asking, (state) => writeFileSync(SAVED, state));
rmSync(SAVED, { force: true });
console.log(result.finalOutput);
