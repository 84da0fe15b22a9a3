#!/usr/bin/env node
// Starts the program that the package of this platform brought along. It downloads nothing.
"use strict";
const { spawnSync } = require("node:child_process");

const name = `@countersign/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/countersign`);
} catch {
  console.error(
    `error: ${name} is not installed: countersign has no program for this platform, or npm was run ` +
      "with --omit=optional",
  );
  process.exit(1);
}
// Signals of the terminal reach the program too, which ends as it wants; this one waits for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`error: ${program}: ${ended.error.message}`);
  process.exit(1);
}
// FAIL-CLOSED: a program that a signal ended has allowed nothing.
process.exit(ended.status === null ? 130 : ended.status);
