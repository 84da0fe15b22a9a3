// The client of one countersign daemon, or of several that share a store.

import { type Call, newQuestion } from "./call.ts";
import type { Answered, Decision, Denied, StillOpen } from "./decision.ts";
import { asked, type Json, Odd, submitted } from "./decode.ts";
import { Lost, TooMuch, Unreachable } from "./errors.ts";
import { sessionSecret } from "./session.ts";
import { type ClientSettings, loadSettings } from "./settings.ts";
import { Transport } from "./transport.ts";
import type { AskView, CancelReason, GrantView, Question } from "./wire.ts";

/** The wait of one request in seconds; longer waits repeat it. The daemon holds it for 60 s. */
const HELD = 55;

/** The timeout of a request that does not wait for a person. */
const PATIENCE = 10_000;

/** The options of a client, in milliseconds. */
export interface ClientOptions {
  connectTimeout?: number;
  /** The longest absence of the daemon that a wait survives. */
  outage?: number;
  /** The pause before a call is submitted again that a limit of the daemon refused. */
  pause?: number;
}

/** The options of a wait. */
export interface DecideOptions {
  /** When it is aborted, the ask is cancelled. */
  signal?: AbortSignal | undefined;
  /** Receives the id of an ask. */
  onOpen?: (ask: string) => void;
}

/** Submits calls and waits for their decisions. All errors are `CountersignError`. */
export class Client {
  readonly #settings: ClientSettings;
  readonly #transport: Transport;
  readonly #outage: number;
  readonly #pause: number;

  constructor(settings: ClientSettings = loadSettings(), options: ClientOptions = {}) {
    this.#settings = settings;
    this.#transport = new Transport(settings, options.connectTimeout ?? 5_000);
    this.#outage = options.outage ?? 120_000;
    this.#pause = options.pause ?? 5_000;
  }

  /**
   * Submits a call and waits until it is decided, also across restarts of the daemon.
   *
   * Who waits here is the ask's caller: when the signal is aborted or this process ends, the ask is
   * cancelled and its cards say so.
   */
  async decide(call: Call, { signal, onOpen }: DecideOptions = {}): Promise<Decision> {
    const open = await this.#submitInTurn(call, 1, signal);
    if (open.kind !== "open") return open;
    try {
      onOpen?.(open.ask);
      return await this.#decided(call, open.ask, 1, signal);
    } catch (error) {
      await this.cancel(open.ask, "aborted", 2_000).catch(() => undefined);
      throw error;
    }
  }

  /** Submits a call without waiting. An ask stays open when this process ends. */
  async submit(call: Call, signal?: AbortSignal): Promise<Decision | StillOpen> {
    return this.#submitInTurn(call, 0, signal);
  }

  /**
   * Waits for a call that stays open when this process ends, and submits it if need be.
   *
   * The same call with the same key, submitted by whichever process, is the same ask: this is how a
   * program that was started again goes on. `open` comes after `atMost` milliseconds.
   */
  async wait(
    call: Call,
    { atMost, signal }: { atMost?: number; signal?: AbortSignal } = {},
  ): Promise<Decision | StillOpen> {
    const open = await this.#submitInTurn(call, 0, signal);
    if (open.kind !== "open") return open;
    const limit = atMost === undefined ? undefined : AbortSignal.timeout(atMost);
    const signals = [signal, limit].filter((one) => one !== undefined);
    try {
      return await this.#decided(call, open.ask, 0, AbortSignal.any(signals));
    } catch (error) {
      if (limit?.aborted && error === limit.reason) return open;
      throw error;
    }
  }

  /** Asks a person, as `decide` does. */
  async question(
    from: { agent: string; session: string; key?: string },
    questions: Question[],
    options: DecideOptions = {},
  ): Promise<Answered | Denied> {
    const decision = await this.decide(newQuestion(from, ...questions), options);
    if (decision.kind === "answered" || decision.kind === "denied") return decision;
    throw this.#transport.unreadable("a decision, though a question was asked");
  }

  /** Takes an ask back. */
  async cancel(ask: string, reason: CancelReason = "aborted", timeout = PATIENCE): Promise<void> {
    const path = ["v1", "asks", ask, "cancel"];
    await this.#transport.send("POST", path, { body: { reason }, timeout });
  }

  /** An ask as it is now. */
  async ask(ask: string): Promise<AskView> {
    const view = await this.#transport.send("GET", ["v1", "asks", ask], { timeout: PATIENCE });
    return view as unknown as AskView;
  }

  /** The open asks, oldest first. */
  async openAsks(): Promise<AskView[]> {
    return (await this.#listed("asks")) as AskView[];
  }

  /** The remembered approvals that may cover calls of agents. */
  async grants(): Promise<GrantView[]> {
    return (await this.#listed("grants")) as GrantView[];
  }

  /** Ends a session, which cancels its open asks and ends its grants. */
  async endSession(agent: string, session: string): Promise<void> {
    const path = ["v1", "sessions", session, "end"];
    await this.#transport.send("POST", path, { body: { agent }, timeout: PATIENCE });
  }

  /** The state of the daemon, its store, its rules and its adapters. */
  async ready(): Promise<Json> {
    return this.#transport.look("readyz", PATIENCE);
  }

  async #decided(
    call: Call,
    ask: string,
    held: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision> {
    for (;;) {
      const now = await this.#look(call, ask, held, signal);
      if (now.kind !== "open") return now;
    }
  }

  async #look(
    call: Call,
    ask: string,
    held: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision | StillOpen> {
    try {
      const query = { wait: String(HELD) };
      const sent = { query, timeout: HELD * 1_000 + PATIENCE, signal };
      const view = await this.#transport.send("GET", ["v1", "asks", ask], sent);
      return this.#read(asked, view, call);
    } catch (error) {
      if (!(error instanceof Unreachable) && !(error instanceof Lost)) throw error;
      // Submitted again, rather than only asked for: the daemon counts us as its caller once more,
      // and a key that it already knows gives the same ask.
      return this.#submitAgain(call, held, signal);
    }
  }

  /** Submits a call, and waits while a limit of the daemon refuses it. */
  async #submitInTurn(
    call: Call,
    held: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision | StillOpen> {
    const since = performance.now();
    for (;;) {
      try {
        return await this.#submit(call, held, signal);
      } catch (error) {
        // It may have delivered the call. Its key makes it safe to submit it again.
        if (error instanceof Lost) return this.#submitAgain(call, held, signal);
        const full = error instanceof TooMuch && performance.now() - since < this.#outage;
        if (!full) throw error;
        await sleep(this.#pause, signal);
      }
    }
  }

  async #submitAgain(
    call: Call,
    held: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision | StillOpen> {
    const since = performance.now();
    for (let pause = 100; ; pause = Math.min(pause * 2, 2_000)) {
      await sleep(pause, signal);
      try {
        return await this.#submit(call, held, signal);
      } catch (error) {
        if (!(error instanceof Unreachable) && !(error instanceof Lost)) throw error;
        if (performance.now() - since < this.#outage) continue;
        // `Lost`, because the daemon had the call before: an ask may be open.
        throw new Lost(error.server, error.why);
      }
    }
  }

  async #submit(
    call: Call,
    held: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision | StillOpen> {
    // Held for a second at most: the id is needed soon, so that an interrupted wait can cancel the
    // ask. Any hold makes us its caller, whose end cancels it.
    const secret = sessionSecret(call.agent, call.session, this.#settings.places);
    const reply = await this.#transport.send("POST", ["v1", "calls"], {
      query: held === 0 ? {} : { wait: String(held) },
      body: secret === null ? call : { ...call, session_secret: secret },
      timeout: held * 1_000 + PATIENCE,
      signal,
    });
    return this.#read(submitted, reply, call);
  }

  #read<T>(read: (reply: Json, call: Call) => T, reply: Json, call: Call): T {
    try {
      return read(reply, call);
    } catch (error) {
      throw error instanceof Odd ? this.#transport.unreadable(error.message) : error;
    }
  }

  async #listed(what: "asks" | "grants"): Promise<unknown[]> {
    const listed: unknown[] = [];
    let query: Record<string, string> = {};
    for (;;) {
      const page = await this.#transport.send("GET", ["v1", what], { query, timeout: PATIENCE });
      const [items, next] = [page[what], page["next"]];
      if (!Array.isArray(items)) throw this.#transport.unreadable(`\`${what}\` is no list`);
      listed.push(...(items as unknown[]));
      if (typeof next !== "string" || items.length === 0) return listed;
      query = { after: next };
    }
  }
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
