// The real daemon in tests: started, killed with -9, started again; and a person who answers.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, loadSettings } from "../src/index.ts";
import type { AskView } from "../src/wire.ts";

export const AGENT = "agent-token-of-the-tests";
const APPROVER = "approver-token-of-the-tests";
const PROGRAM = process.env["COUNTERSIGN_BIN"];

/** A daemon in a folder of its own. Everything asks, unless a rule says otherwise. */
export class Daemon {
  readonly folder = mkdtempSync(join(tmpdir(), "countersign-"));
  readonly config = join(this.folder, "countersign.toml");
  url = "";
  /** How long people have, from the next start. */
  timeout: string | null = null;
  /** What else ends with the test. */
  readonly helpers: ChildProcess[] = [];
  #process: ChildProcess | null = null;

  async start(): Promise<void> {
    const { folder } = this;
    const listen = this.url === "" ? "127.0.0.1:0" : this.url.slice("http://".length);
    const config = [
      this.timeout === null ? "" : `[policy]\ntimeout = "${this.timeout}"`,
      `[daemon]\nsocket = "${folder}/d.sock"\nlisten = "${listen}"\nstate_dir = "${folder}/state"`,
      `agent_token = "${AGENT}"\napprover_token = "${APPROVER}"`,
      `[store]\nurl = "sqlite:${folder}/store.db"\n`,
    ];
    writeFileSync(this.config, config.join("\n"), { mode: 0o600 });
    const rules = { "*": "ask", shell_exec: { "*": "ask", true: "allow", "shutdown *": "deny" } };
    writeFileSync(join(folder, "permissions.jsonc"), JSON.stringify(rules));
    const env = { HOME: folder, PATH: process.env["PATH"], RUST_LOG: "warn" };
    const started = spawn(PROGRAM ?? "", ["--config", this.config, "serve"], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#process = started;
    started.stdout.setEncoding("utf8");
    let said = "";
    for await (const part of started.stdout) {
      said += part as string;
      if (said.includes("\n")) break;
    }
    const ready = /^ready (http:\S+?)\/\?/.exec(said);
    assert.ok(ready?.[1], said);
    this.url = ready[1];
  }

  /** Ends it without a chance to say goodbye. */
  async kill(): Promise<void> {
    const running = this.#process;
    if (running === null || running.exitCode !== null) return;
    const gone = once(running, "exit");
    running.kill("SIGKILL");
    await gone;
    this.#process = null;
  }

  async close(): Promise<void> {
    await this.kill();
    this.helpers.forEach((helper) => helper.kill());
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The environment in which a program finds this daemon. */
  env(): Record<string, string> {
    const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;
    return { PATH: path, HOME: this.folder, COUNTERSIGN_CONFIG: this.config };
  }

  /** A client over the socket, or over HTTP with this token. */
  client(token?: string): Client {
    const http = { COUNTERSIGN__CLIENT__URL: this.url, COUNTERSIGN__CLIENT__TOKEN: token ?? "" };
    const more = token === undefined ? {} : http;
    const settings = loadSettings(this.config, { ...this.env(), ...more });
    return new Client(settings, { outage: 20_000 });
  }

  /** A request of the approver. */
  async request(method: string, path: string, body?: object): Promise<any> {
    const headers = { authorization: `Bearer ${APPROVER}`, "content-type": "application/json" };
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const reply = await fetch(this.url + path, sent);
    const text = await reply.text();
    assert.ok(reply.ok, `${path}: ${reply.status} ${text}`);
    return JSON.parse(text);
  }

  /** The open ask, once there is one. */
  async opened(): Promise<AskView> {
    for (let turn = 0; turn < 600; turn += 1) {
      const { asks } = await this.request("GET", "/v1/asks");
      if (asks.length > 0) return asks[0];
      await sleep(50);
    }
    throw new Error("nothing was asked");
  }

  /** Answers the open ask as a person would, and returns it. */
  async answer(decision: string, more: object = {}): Promise<AskView> {
    const ask = await this.opened();
    const path = `/v1/asks/${ask.id}/answer`;
    let reply = await this.request("POST", path, { decision, ...more });
    if (decision === "edit") {
      reply = await this.request("POST", path, { decision, digest: reply.edit.digest });
    }
    assert.ok(reply.applied, JSON.stringify(reply));
    return ask;
  }

  /** The state of an ask, once it is closed. */
  async closed(ask: string): Promise<string> {
    return (await this.request("GET", `/v1/asks/${ask}?wait=30`)).state;
  }
}

/** A test with a daemon of its own; skipped where the program is not named. */
export function live(name: string, work: (daemon: Daemon, t: TestContext) => Promise<void>): void {
  const skip = PROGRAM === undefined ? "set COUNTERSIGN_BIN to the program `countersign`" : false;
  test(name, { skip, timeout: 90_000 }, async (t) => {
    const daemon = new Daemon();
    try {
      await daemon.start();
      await work(daemon, t);
    } finally {
      await daemon.close();
    }
  });
}
