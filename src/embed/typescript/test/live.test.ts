// The client against the real daemon.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Call, type CallFields, newCall } from "../src/index.ts";
import { Refused, Rejected, textForModel } from "../src/index.ts";
import { AGENT, type Daemon, live } from "./daemon.ts";

function make(command = "make deploy", more: Partial<CallFields> = {}): Call {
  const from = { agent: "tester", session: "one" };
  return newCall({ ...from, tool: "shell_exec", args: { command }, ...more });
}

live("rules decide at once", async (daemon) => {
  const allowed = await daemon.client().decide(make("true"));
  assert.deepEqual([allowed.kind, allowed.ending.kind], ["approved", "rule"]);
  const denied = await daemon.client().decide(make("shutdown now"));
  assert.ok(denied.kind === "denied" && textForModel(denied).includes("shutdown *"));
});

live("a person approves with a note, over the socket and over http", async (daemon) => {
  for (const client of [daemon.client(), daemon.client(AGENT)]) {
    const answer = daemon.answer("approve", { reason: "go on" });
    const [{ kind, ending }] = await Promise.all([client.decide(make()), answer]);
    assert.ok(kind === "approved" && ending.kind === "answer");
    assert.deepEqual([ending.note, ending.by.kind], ["go on", "person"]);
  }
});

live("a person denies with a reason and stops", async (daemon) => {
  const answer = daemon.answer("deny", { reason: "use the staging host", stop: true });
  const call = make("make deploy", { accepts: ["stop"] });
  const [denied] = await Promise.all([daemon.client().decide(call), answer]);
  assert.ok(denied.kind === "denied" && denied.ending.kind === "answer");
  assert.deepEqual([denied.ending.note, denied.ending.stop], ["use the staging host", true]);
  assert.ok(textForModel(denied).includes("use the staging host"));
});

live("a person edits the arguments", async (daemon) => {
  const answer = daemon.answer("edit", { edit: "make deploy HOST=staging" });
  const call = make("make deploy", { accepts: ["updated_input"] });
  const [edited] = await Promise.all([daemon.client().decide(call), answer]);
  assert.ok(edited.kind === "edited");
  assert.deepEqual(edited.args, { command: "make deploy HOST=staging" });
});

live("a person answers a question", async (daemon) => {
  const question = { question: "Which region?", options: [{ label: "eu" }, { label: "us" }] };
  const asking = daemon.client().question({ agent: "tester", session: "one" }, [question]);
  const answers = { "Which region?": "eu" };
  const [answered] = await Promise.all([asking, daemon.answer("answer", { answers })]);
  assert.ok(answered.kind === "answered");
  assert.deepEqual(answered.answers, answers);
});

live("nobody answers in time", async (daemon) => {
  const denied = await daemon.client().decide(make("make deploy", { expires_in_s: 1 }));
  assert.deepEqual([denied.kind, denied.ending.kind], ["denied", "expired"]);
});

live("a grant for the session covers the next call of every program", async (daemon) => {
  const client = daemon.client();
  const answer = daemon.answer("approve", { scope: "session" });
  const [first] = await Promise.all([client.decide(make("make build")), answer]);
  assert.ok(first.ending.kind === "answer" && first.ending.scope === "session");
  const again = await client.decide(make("make build"));
  assert.deepEqual([again.kind, again.ending.kind], ["approved", "rule"]);
  // The program `countersign` on this machine is in the same session.
  const options = ["--agent", "tester", "--session", "one", "--", "make", "build"];
  const program = process.env["COUNTERSIGN_BIN"] ?? "";
  const ran = spawn(program, ["ask", ...options], { env: daemon.env(), stdio: "ignore" });
  assert.deepEqual(await once(ran, "exit"), [0, null]);
  await client.endSession("tester", "one");
  assert.equal((await client.submit(make("make build"))).kind, "open");
});

live("a grant for always is listed", async (daemon) => {
  const answer = daemon.answer("approve", { scope: "always" });
  await Promise.all([daemon.client().decide(make("make build")), answer]);
  const grants = await daemon.client().grants();
  const listed = grants.map(({ scope, pattern }) => [scope, pattern]);
  assert.deepEqual(listed, [["always", "make build"]]);
});

live("the daemon's refusals are sentences", async (daemon) => {
  const client = daemon.client();
  await assert.rejects(daemon.client("wrong-token-of-the-tests").decide(make()), Refused);
  await assert.rejects(client.decide(make("x", { agent: "" })), /^Rejected: `agent` is empty/);
  await client.submit(make("make deploy", { key: "k" }));
  await assert.rejects(client.submit(make("make other", { key: "k" })), Rejected);
  assert.equal((await client.ready())["store"], "up");
});

live("a killed daemon that comes back gives the same ask's answer", async (daemon) => {
  for (const client of [daemon.client(), daemon.client(AGENT)]) {
    const deciding = client.decide(make());
    const before = await daemon.opened();
    await daemon.kill();
    await sleep(300);
    await daemon.start();
    const after = await daemon.answer("approve");
    const { kind, ending } = await deciding;
    assert.ok(kind === "approved" && ending.kind === "answer");
    assert.deepEqual([after.id, ending.ask], [before.id, before.id]);
  }
});

live("an aborted signal cancels the ask, and what was cancelled is asked anew", async (daemon) => {
  const [aborting, call] = [new AbortController(), make()];
  const { signal } = aborting;
  const onOpen = (): void => aborting.abort();
  await assert.rejects(daemon.client().decide(call, { signal, onOpen }), { name: "AbortError" });
  const { asks } = await daemon.request("GET", "/v1/asks?state=cancelled");
  assert.equal(asks.length, 1);
  const again = await daemon.client().submit(call);
  assert.ok(again.kind === "open" && again.ask !== asks[0].id);
});

live("a killed caller cancels its ask", async (daemon) => {
  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    const caller = start(daemon, "decide");
    const ask = await daemon.opened();
    caller.kill(signal);
    assert.equal(await daemon.closed(ask.id), "cancelled");
  }
});

live("a caller that waits with its key goes on after its own death", async (daemon) => {
  const first = start(daemon, "wait");
  const ask = await daemon.opened();
  first.kill("SIGKILL");
  // Longer than a waiting caller may be away.
  await sleep(4_000);
  await daemon.answer("approve");
  const second = start(daemon, "wait");
  let said = "";
  second.stdout?.on("data", (part: Buffer) => (said += part.toString()));
  await once(second, "close");
  assert.equal(said, `approved ${ask.id}\n`);
});

function start(daemon: Daemon, method: "decide" | "wait"): ChildProcess {
  const module = new URL(`../src/index${import.meta.url.slice(-3)}`, import.meta.url).href;
  const program = `import { Client, newCall } from ${JSON.stringify(module)};
    const call = newCall({ agent: "tester", session: "one", tool: "shell_exec", key: "kept",
      args: { command: "make deploy" }, cwd: "/srv", host: "h" });
    const decision = await new Client().${method}(call);
    console.log(decision.kind, decision.ending.ask);`;
  const options = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  return spawn(process.execPath, options, { env: daemon.env(), stdio });
}
