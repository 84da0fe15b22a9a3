// A server in the daemon's place that replies as a test says.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type ClientOptions, type Call } from "../src/index.ts";
import type { ClientSettings } from "../src/settings.ts";

/** What the server received. */
export interface Received {
  target: string;
  headers: IncomingMessage["headers"];
  body: string;
  /** Resolves when its client has closed the connection. */
  gone: Promise<void>;
}

/** Status and JSON (and headers), raw bytes, or nothing at all. */
export type Reply = [number, unknown, Record<string, string>?] | Buffer | null;

export type Handler = (received: Received) => Reply | Promise<Reply>;

/** Serves each request by the handler, and remembers them all. */
export class FakeDaemon {
  readonly received: Received[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "countersign-"));
  readonly #server: Server;

  constructor(handler: Handler) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const received: Received = {
          target: `${request.method} ${request.url}`,
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
          gone: new Promise((resolve) => response.on("close", () => resolve())),
        };
        this.received.push(received);
        void Promise.resolve(handler(received)).then((reply) => send(response, reply));
      });
    });
  }

  get targets(): string[] {
    return this.received.map(({ target }) => target);
  }

  /** Listens on its socket, or on a port of this machine. */
  async listen(at: "socket" | "port"): Promise<ClientSettings> {
    const path = join(this.folder, "d.sock");
    await new Promise<void>((resolve) => {
      if (at === "socket") this.#server.listen(path, resolve);
      else this.#server.listen(0, "127.0.0.1", resolve);
    });
    const { folder } = this;
    const places = { home: folder, config: folder, state: join(folder, "state"), runtime: null };
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const url = new URL(`http://127.0.0.1:${port}/base/`);
    const [unix, http] = [{ kind: "unix", path } as const, { kind: "http", url } as const];
    return { servers: [at === "socket" ? unix : http], token: null, caFile: null, places };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === null || Buffer.isBuffer(reply)) {
    response.socket?.end(reply ?? "");
    return;
  }
  const [status, body, headers] = reply;
  response.writeHead(status, headers);
  response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

/** Runs a test with a fake daemon and its client. */
export async function withDaemon(
  handler: Handler,
  test: (client: Client, fake: FakeDaemon) => Promise<void>,
  options: ClientOptions = { outage: 5_000 },
): Promise<void> {
  const fake = new FakeDaemon(handler);
  try {
    await test(new Client(await fake.listen("socket"), options), fake);
  } finally {
    fake.close();
  }
}

/** A handler that replies one after the other. */
export function inOrder(...replies: Reply[]): Handler {
  return () => replies.shift() ?? null;
}

/** A call with nothing of this machine in it. */
export function call(more: Partial<Call> = {}): Call {
  const args = { command: "make" };
  return { agent: "a", session: "s", tool: "shell_exec", key: "k1", args, ...more };
}

export const PERSON = { kind: "person", platform: "telegram", id: "5", name: "Ana" } as const;

export const OPEN = { verdict: "ask", ask: "a1", id: "a1", state: "open" };

/** An ask that a person answered. */
export function answered(verdict: string, decision: string, more: object = {}) {
  const answer = { decision, by: PERSON, at: "2026-11-23T00:00:00Z", ...more };
  return { id: "a1", ask: "a1", state: "answered", verdict, reason: "by Ana", answer };
}
