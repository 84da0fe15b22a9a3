// Sends one request to one of the daemons, and returns its reply or throws an error.

import { type ApiRequest, Connection, parsed, type RawReply } from "./connection.ts";
import { isObject, type Json } from "./decode.ts";
import {
  type CountersignError,
  Lost,
  Refused,
  Rejected,
  SetUp,
  TooMuch,
  Unreachable,
  Unreadable,
} from "./errors.ts";
import type { ClientSettings } from "./settings.ts";

/** What a request is made of. */
export interface Sent {
  query?: Record<string, string>;
  body?: unknown;
  /** In milliseconds. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

/** The connections to the daemons. */
export class Transport {
  readonly #connections: Connection[];
  /** The index of the connection that worked last. */
  #current = 0;

  constructor(settings: ClientSettings, connectTimeout: number) {
    if (settings.servers.length === 0) throw new SetUp("[client] url names no daemon");
    const connection = (server: ClientSettings["servers"][number]): Connection =>
      new Connection(server, settings, connectTimeout);
    this.#connections = settings.servers.map(connection);
  }

  /** The object that the daemon replies. */
  async send(method: "GET" | "POST", path: string[], sent: Sent): Promise<Json> {
    const reply = await this.#exchange(newRequest(method, path, sent), true);
    if (reply.status < 200 || reply.status > 299) throw this.#refusal(reply);
    return this.#object(reply);
  }

  /** Reads a status route, whether its status code is good or not. */
  async look(path: string, timeout: number): Promise<Json> {
    return this.#object(await this.#exchange(newRequest("GET", [path], { timeout }), false));
  }

  /** The error of a reply that cannot be understood. */
  unreadable(why: string): Unreadable {
    return new Unreadable(this.#server(), why);
  }

  async #exchange(request: ApiRequest, credentials: boolean): Promise<RawReply> {
    const [first, count] = [this.#current, this.#connections.length];
    let failed: Unreachable | null = null;
    // Another daemon is tried only if no connection could be made: one that received the request
    // may have acted on it.
    for (let turn = first; turn < first + count; turn += 1) {
      const connection = this.#connections[turn % count];
      if (connection === undefined) break;
      try {
        const reply = credentials ? connection.authorized(request) : connection.plain(request);
        const received = await reply;
        this.#current = turn % count;
        return received;
      } catch (error) {
        if (error instanceof Lost) this.#current = (turn + 1) % count;
        if (!(error instanceof Unreachable)) throw error;
        failed ??= error;
      }
    }
    throw failed ?? new SetUp("[client] url names no daemon");
  }

  #refusal(reply: RawReply): CountersignError {
    const read = parsed(reply.body);
    const error = isObject(read) ? read["error"] : null;
    const sentence = typeof error === "string" ? error : `the daemon answered ${reply.status}`;
    switch (reply.status) {
      case 401:
      case 403:
        return new Refused(sentence);
      case 429:
        return new TooMuch(sentence);
      case 502:
      case 503:
      case 504: {
        // A daemon that is stopping, or a proxy in front of one that is starting.
        const lost = new Lost(this.#server(), sentence);
        this.#current = (this.#current + 1) % this.#connections.length;
        return lost;
      }
      default:
        return new Rejected(sentence);
    }
  }

  #object(reply: RawReply): Json {
    const read = parsed(reply.body);
    if (read === undefined) throw this.unreadable("it is not valid JSON");
    if (!isObject(read)) throw this.unreadable("it is no object");
    return read;
  }

  #server(): string {
    return this.#connections[this.#current]?.server ?? "";
  }
}

function newRequest(method: "GET" | "POST", path: string[], sent: Sent): ApiRequest {
  const { query = {}, timeout, signal } = sent;
  const body = sent.body === undefined ? null : Buffer.from(json(sent.body));
  return { method, path, query, body, timeout, signal };
}

function json(body: unknown): string {
  try {
    return JSON.stringify(body, (key, value: unknown) => {
      // What JSON has no word for would silently become `null`, or nothing: the card would not show
      // what runs.
      const odd = typeof value === "number" && !Number.isFinite(value);
      if (odd || typeof value === "function" || typeof value === "symbol") {
        throw new Error(`\`${key}\` is ${String(value)}`);
      }
      return value;
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SetUp(`the call cannot be sent as JSON: ${why}`);
  }
}
