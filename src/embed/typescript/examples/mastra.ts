// A Mastra agent whose tool calls people approve.

import { execSync } from "node:child_process";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Client } from "countersign";
import { answerApprovals } from "countersign/adapters/mastra";
import { z } from "zod";
import { mastraModel } from "./scripted.ts"; // Put your own model in its place.

const shell_exec = createTool({
  id: "shell_exec",
  description: "Runs a command.",
  inputSchema: z.object({ command: z.string() }),
  requireApproval: true,
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const deployer = new Agent({
  id: "deployer",
  name: "deployer",
  instructions: "You deploy.",
  model: mastraModel(),
  tools: { shell_exec },
});
// A store that outlives the process lets a suspended run go on after a restart.
new Mastra({ agents: { deployer }, storage: new InMemoryStore(), logger: false });

const asking = { client: new Client(), agent: "mastra", session: "deploy-1" };
const output = await deployer.generate("deploy");
console.log((await answerApprovals(deployer, output, asking)).text);
