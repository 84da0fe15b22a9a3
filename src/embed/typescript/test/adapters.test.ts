// The examples of the adapters, with the real frameworks, scripted models and the real daemon.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Daemon, live } from "./daemon.ts";
import { ran, said, startExample } from "./examples.ts";

const NEW_ENOUGH = Number(process.versions.node.split(".")[0]) >= 22;

/** An example, and a way to start it. */
interface Tried {
  name: string;
  edits: boolean;
  start(daemon: Daemon): Promise<ChildProcess>;
}

function plain(name: string): Tried {
  return { name, edits: false, start: async (daemon) => startExample(daemon, name) };
}

/** Starts a scripted model for Claude Code, and the example with it. */
async function startClaude(daemon: Daemon, script: object): Promise<ChildProcess> {
  const up = import.meta.url.endsWith(".ts") ? "../.." : "../../..";
  const file = fileURLToPath(new URL(`${up}/claude_model.py`, import.meta.url));
  const env = { ...process.env, SCRIPT: JSON.stringify(script) };
  const model = spawn("python3", [file], { env, stdio: ["ignore", "pipe", "inherit"] });
  daemon.helpers.push(model);
  const [address] = (await once(model.stdout, "data")) as [Buffer];
  return startExample(daemon, "claude-agent", {
    ANTHROPIC_BASE_URL: address.toString().trim(),
    ANTHROPIC_API_KEY: "scripted",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1",
    NO_PROXY: "127.0.0.1",
  });
}

const bash = { tool: "Bash", args: { command: "make deploy", description: "Deploy" } };
const CLAUDE: Tried = {
  name: "claude-agent",
  edits: true,
  start: (daemon) => startClaude(daemon, bash),
};
const openai = plain("openai-agent");

if (!NEW_ENOUGH) test("the adapters", { skip: "the frameworks need node 22" }, () => undefined);
for (const tried of NEW_ENOUGH ? [plain("ai-sdk"), plain("mastra"), openai, CLAUDE] : []) {
  const { name } = tried;

  live(`${name}: an approved call runs`, async (daemon) => {
    const printing = said(await tried.start(daemon));
    await daemon.answer("approve");
    assert.match(await printing, /^done/);
    assert.equal(ran(daemon), "make deploy");
  });

  live(`${name}: the model reads why a call is denied`, async (daemon) => {
    const printing = said(await tried.start(daemon));
    await daemon.answer("deny", { reason: "not on a Friday" });
    assert.match(await printing, /not on a Friday/);
    assert.equal(ran(daemon), "");
  });

  live(`${name}: an edit runs in the call's place, or is not offered`, async (daemon) => {
    const printing = said(await tried.start(daemon));
    const { call } = await daemon.opened();
    assert.equal((call.accepts ?? []).includes("updated_input"), tried.edits);
    const change = { edit: "make deploy HOST=staging" };
    await (tried.edits ? daemon.answer("edit", change) : daemon.answer("deny"));
    await printing;
    assert.equal(ran(daemon), tried.edits ? "make deploy HOST=staging" : "");
  });

  live(`${name}: a daemon that was killed gives the same ask's answer`, async (daemon) => {
    const printing = said(await tried.start(daemon));
    const before = await daemon.opened();
    await daemon.kill();
    await daemon.start();
    const after = await daemon.answer("approve");
    assert.match(await printing, /^done/);
    assert.deepEqual([after.id, ran(daemon)], [before.id, "make deploy"]);
  });

  live(`${name}: nobody answers in time`, async (daemon) => {
    await daemon.kill();
    daemon.timeout = "1s";
    await daemon.start();
    assert.match(await said(await tried.start(daemon)), /Timed out after 1 s/);
    assert.equal(ran(daemon), "");
  });
}

if (NEW_ENOUGH) {
  live("openai-agent: it goes on after its own death", async (daemon) => {
    const first = await openai.start(daemon);
    await daemon.opened();
    first.kill("SIGKILL");
    await once(first, "close");
    await daemon.answer("approve");
    assert.match(await said(await openai.start(daemon)), /^done/);
    assert.equal(ran(daemon), "make deploy");
  });

  live("claude-agent: a denial that stops ends the turn", async (daemon) => {
    const example = await CLAUDE.start(daemon);
    const ended = once(example, "close");
    await daemon.answer("deny", { stop: true });
    // The SDK ends an interrupted turn with an error.
    assert.deepEqual(await ended, [1, null]);
    assert.equal(ran(daemon), "");
  });

  live("claude-agent: a question is answered", async (daemon) => {
    const options = ["eu", "us"].map((label) => ({ label, description: label }));
    const question = { question: "Which region?", header: "Region", multiSelect: false, options };
    const script = { tool: "AskUserQuestion", args: { questions: [question] } };
    const printing = said(await startClaude(daemon, script));
    await daemon.answer("answer", { answers: { "Which region?": "us" } });
    assert.match(await printing, /^done: .*"Which region\?"="us"/);
  });
}
