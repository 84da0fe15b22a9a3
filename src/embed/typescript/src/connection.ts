// One HTTP request to one daemon, over its unix socket, http or https.

import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { rootCertificates } from "node:tls";
import { isObject } from "./decode.ts";
import { Lost, Refused, SetUp, Unreachable, Unreadable } from "./errors.ts";
import { maskedToken, type ProvenRequest, REPLY, replyProof, SCHEME } from "./proof.ts";
import { type ClientSettings, type Server, serverText } from "./settings.ts";

/** One request. */
export interface ApiRequest {
  method: "GET" | "POST";
  path: string[];
  query: Record<string, string>;
  body: Buffer | null;
  /** In milliseconds. */
  timeout: number;
  signal: AbortSignal | undefined;
}

/** A status, a text and what proves them. */
export interface RawReply {
  status: number;
  body: Buffer;
  proof: string | null;
}

const NONCE_TIMEOUT = 10_000;
const LARGEST_REPLY = 64 << 20;

/** The way to one daemon. Each request is a connection of its own. */
export class Connection {
  readonly server: string;
  readonly #server: Server;
  readonly #settings: ClientSettings;
  readonly #connectTimeout: number;
  readonly #ca: string[] | null;

  constructor(server: Server, settings: ClientSettings, connectTimeout: number) {
    this.server = serverText(server);
    this.#server = server;
    this.#settings = settings;
    this.#connectTimeout = connectTimeout;
    this.#ca = authorities(settings.caFile);
  }

  /** Sends a request with the agent's token where the server wants one. */
  // SECURITY: only TLS authenticates the server. Over plain http the token is proved without being
  // sent, and the reply needs a proof too: a program that took the place of a stopped daemon learns
  // nothing and is not believed. The socket's peer is this user.
  async authorized(request: ApiRequest): Promise<RawReply> {
    const token = this.#settings.token;
    if (this.#server.kind === "unix") return this.plain(request);
    const secure = this.#server.url.protocol === "https:";
    if (token === null && !secure) {
      throw new Refused(`${this.server} wants a token; set [client] token`);
    }
    if (token === null) return this.plain(request);
    return secure ? this.#send(request, `Bearer ${token}`) : this.#proven(request, token);
  }

  /** Sends a request without credentials. */
  async plain(request: ApiRequest): Promise<RawReply> {
    return this.#send(request, null);
  }

  async #proven(request: ApiRequest, token: string): Promise<RawReply> {
    const reply = await this.plain({
      method: "GET",
      path: ["v1", "nonce"],
      query: {},
      body: null,
      timeout: NONCE_TIMEOUT,
      signal: request.signal,
    });
    if (reply.status >= 500) return reply;
    const about: ProvenRequest = {
      nonce: this.#nonce(reply),
      method: request.method,
      target: this.#target(request),
      body: request.body ?? Buffer.alloc(0),
    };
    const masked = maskedToken(about, token);
    const proven = await this.#send(request, `${SCHEME}${about.nonce}:${masked}`);
    const right = replyProof(about, token, proven.status, proven.body);
    // A refusal has no proof if no known token fitted. It grants nothing, so it is accepted.
    if (proven.proof === right || proven.status === 401 || proven.status >= 500) return proven;
    throw this.#stranger("its reply is not proved");
  }

  #nonce(reply: RawReply): string {
    const read = parsed(reply.body);
    const nonce = isObject(read) ? read["nonce"] : null;
    // It becomes part of a header and of the lines under the MAC: no line breaks.
    const plain = typeof nonce === "string" && /^[A-Za-z0-9._-]{16,200}$/.test(nonce);
    if (!plain || reply.status < 200 || reply.status > 299) {
      throw this.#stranger("it gives no nonce to show the token with");
    }
    return nonce;
  }

  #stranger(why: string): Unreadable {
    return new Unreadable(this.server, `${why}; it may be another program in the daemon's place`);
  }

  /** Ids come from people and agents: each is one path segment, with any `/` escaped. */
  #target(request: ApiRequest): string {
    const base = this.#server.kind === "http" ? this.#server.url.pathname.replace(/\/+$/, "") : "";
    const path = base + request.path.map((part) => `/${encodeURIComponent(part)}`).join("");
    const query = new URLSearchParams(request.query).toString();
    return query === "" ? path : `${path}?${query}`;
  }

  #options(request: ApiRequest, authorization: string | null): https.RequestOptions {
    const headers: Record<string, string | number> = { accept: "application/json" };
    if (authorization !== null) {
      if (!/^[\x20-\x7e]*$/.test(authorization)) {
        throw new SetUp("the token holds characters that no header can carry");
      }
      headers["authorization"] = authorization;
    }
    if (request.body !== null) {
      headers["content-type"] = "application/json";
      headers["content-length"] = request.body.length;
    }
    const options: https.RequestOptions = {
      method: request.method,
      path: this.#target(request),
      headers,
      agent: false,
    };
    if (this.#server.kind === "unix") return { ...options, socketPath: this.#server.path };
    const { hostname, port, protocol } = this.#server.url;
    const host = hostname.replace(/^\[|\]$/g, "");
    const tls = this.#ca === null ? {} : { ca: this.#ca };
    return { ...options, ...tls, host, protocol, ...(port === "" ? {} : { port }) };
  }

  #send(request: ApiRequest, authorization: string | null): Promise<RawReply> {
    const options = this.#options(request, authorization);
    const secure = options.protocol === "https:";
    return new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      const sent = (secure ? https : http).request(options);
      let connected = false;
      const fail = (error: unknown): void => {
        finish();
        const why = error instanceof Error && error.message !== "" ? error.message : String(error);
        if (request.signal?.aborted) reject(request.signal.reason);
        else reject(new (connected ? Lost : Unreachable)(this.server, why));
        sent.destroy();
      };
      const late = (): void => fail("it does not answer in time");
      const abort = (): void => fail(request.signal?.reason);
      const connecting = setTimeout(() => connected || late(), this.#connectTimeout);
      const waiting = setTimeout(late, request.timeout);
      const finish = (): void => {
        clearTimeout(connecting);
        clearTimeout(waiting);
        request.signal?.removeEventListener("abort", abort);
      };
      request.signal?.addEventListener("abort", abort);
      sent.on("error", fail);
      sent.on("socket", (socket) => {
        socket.once(secure ? "secureConnect" : "connect", () => (connected = true));
      });
      sent.on("response", (reply) => {
        connected = true;
        const chunks: Buffer[] = [];
        let size = 0;
        reply.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > LARGEST_REPLY) fail("its reply is too large");
        });
        reply.on("error", fail);
        // A reply that was cut off ends without being complete.
        reply.on("close", () => reply.complete || fail("its reply was cut off"));
        reply.on("end", () => {
          if (!reply.complete) return;
          finish();
          const proof = reply.headers[REPLY];
          resolve({
            status: reply.statusCode ?? 0,
            body: Buffer.concat(chunks),
            proof: typeof proof === "string" ? proof : null,
          });
        });
      });
      sent.end(request.body ?? undefined);
    });
  }
}

/** JSON, or `undefined` where it is not valid JSON. */
export function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function authorities(file: string | null): string[] | null {
  if (file === null) return null;
  try {
    return [...rootCertificates, readFileSync(file, "utf8")];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SetUp(`[client] ca_file ${file}: ${why}`);
  }
}
