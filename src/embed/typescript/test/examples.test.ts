// The examples of docs/embed.md, as programs of their own, against the real daemon.

import assert from "node:assert/strict";
import { once } from "node:events";
import { live } from "./daemon.ts";
import { ran, runExample, said, startExample } from "./examples.ts";

live("decide runs what was approved", async (daemon) => {
  assert.equal(await runExample(daemon, "decide", "approve"), "");
  assert.equal(ran(daemon), "make deploy");
});

live("decide runs nothing that was denied", async (daemon) => {
  const printed = await runExample(daemon, "decide", "deny", { reason: "not on a Friday" });
  assert.match(printed, /^not deployed: .*not on a Friday/);
  assert.equal(ran(daemon), "");
});

live("decide goes on after the daemon was killed", async (daemon) => {
  const printing = said(startExample(daemon, "decide"));
  const before = await daemon.opened();
  await daemon.kill();
  await daemon.start();
  const after = await daemon.answer("approve");
  await printing;
  assert.deepEqual([after.id, ran(daemon)], [before.id, "make deploy"]);
});

live("resume finds its answer after it was killed", async (daemon) => {
  const first = startExample(daemon, "resume", {}, "17");
  const ask = await daemon.opened();
  first.kill("SIGKILL");
  await once(first, "close");
  await daemon.answer("approve");
  assert.equal(await said(startExample(daemon, "resume", {}, "17")), "refunded");
  assert.equal(await daemon.closed(ask.id), "answered");
});

live("question prints the answer", async (daemon) => {
  const answers = { "Which region?": "us-east" };
  assert.equal(await runExample(daemon, "question", "answer", { answers }), "us-east");
});
