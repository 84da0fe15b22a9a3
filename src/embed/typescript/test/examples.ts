// Runs an example of the package as a program of its own.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Daemon } from "./daemon.ts";

/** Starts an example in the daemon's folder, where a `make` leaves a mark. */
export function startExample(
  daemon: Daemon,
  name: string,
  variables: Record<string, string> = {},
  ...given: string[]
): ChildProcess {
  const tools = join(daemon.folder, "bin");
  if (!existsSync(tools)) {
    mkdirSync(tools);
    const make = `#!/bin/sh\necho "make $*" >> ${daemon.folder}/ran\n`;
    writeFileSync(join(tools, "make"), make, { mode: 0o755 });
  }
  const env = { ...daemon.env(), ...variables };
  env["PATH"] = `${tools}${delimiter}${env["PATH"]}`;
  // The same kind of file as this one: the source itself, or what the compiler made of it.
  const ending = import.meta.url.slice(import.meta.url.lastIndexOf("."));
  const file = fileURLToPath(new URL(`../examples/${name}${ending}`, import.meta.url));
  return spawn(process.execPath, ["--disable-warning=ExperimentalWarning", file, ...given], {
    cwd: daemon.folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What the example printed, once it has ended well. */
export async function said(example: ChildProcess): Promise<string> {
  let [out, errors] = ["", ""];
  example.stdout?.on("data", (part: Buffer) => (out += part.toString()));
  example.stderr?.on("data", (part: Buffer) => (errors += part.toString()));
  const [code] = await once(example, "close");
  assert.equal(code, 0, errors);
  return out.trim();
}

/** Runs an example, with a person who decides so. */
export async function runExample(
  daemon: Daemon,
  name: string,
  decision: string,
  more: object = {},
): Promise<string> {
  const example = startExample(daemon, name);
  const [printed] = await Promise.all([said(example), daemon.answer(decision, more)]);
  return printed;
}

/** What the example has run. */
export function ran(daemon: Daemon): string {
  const mark = join(daemon.folder, "ran");
  appendFileSync(mark, "");
  return readFileSync(mark, "utf8").trim();
}
