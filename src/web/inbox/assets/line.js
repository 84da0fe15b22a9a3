// The line to countersign: hello and proofs, the stream of cards, and presses.
//
// The key never leaves this page. Before every request countersign proves that it holds the key as well,
// and another program that answers at this address is sent nothing that could be used.

import { canProve, fresh, proofOf } from "./proof.js";

const HEADER = "x-countersign-inbox";
const PLACE = "countersign-key";
const PUSH = "/push/";
// The server says something every 10 s; after this long a silent line is dead (a phone that slept).
const SILENCE = 25_000;
const PRESS_LIMIT = 20_000;
const LONGEST_PAUSE = 5_000;

const NO_KEY = "This tab has no access. Open the link printed by `countersign open`, or send " +
  "/login to the bot.";
const NO_PROOFS = "A browser proves itself only on this machine or over https. Open the inbox as http://127.0.0.1 " +
  "(from another machine through `ssh -L 7117:127.0.0.1:7117 HOST`), or through a proxy with TLS.";
const ENDED = "Your sign-in has ended, countersign restarted, or something else answers at its address: nothing was " +
  "sent to it. Open the address of the inbox again to sign in, or send /login to the bot for a new link.";
const STRANGER = "countersign restarted, or something else answers at its address: nothing was sent to it. " +
  "Run `countersign open` for a new link.";

/** The answering program cannot prove to be the countersign that let this page in. */
class Stranger extends Error {}

const key = takeKey();
// The key of a sign-in begins with the name of that sign-in.
const signIn = key.includes(".") ? key.split(".")[0] : "";
const strangerSays = () => (signIn ? ENDED : STRANGER);
forgetWorkers();

/**
 * Follows the board for ever. `on.board({now, cards, notice})` comes first on every connection, then
 * `on.card({now, card})` and `on.notice({notice})`; `on.lost()` when the line breaks, `on.refused(sentence)`
 * when this page has no access there; `on.locked(sentence)` ends it.
 */
export async function follow(on) {
  if (!canProve) return on.locked(NO_PROOFS);
  if (!key) return on.locked(NO_KEY);
  let pause = 250;
  for (;;) {
    const silence = watchdog();
    let refusal = "";
    try {
      const { challenge, headers } = await proven("GET", "/inbox/events", "", silence.signal);
      const response = await fetch("/inbox/events", { headers, cache: "no-store", signal: silence.signal });
      if (response.status === 401 || response.status === 403) refusal = await sentenceOf(response);
      if (response.ok) {
        await listen(response.body, challenge, silence, {
          board: (data) => { pause = 250; on.board(data); },
          card: on.card,
          notice: on.notice,
        });
      }
    } catch (problem) {
      // Whatever it was: the line is lost and is tried again.
      if (problem instanceof Stranger) refusal = strangerSays();
    } finally {
      silence.stop();
    }
    if (refusal) on.refused(refusal);
    else on.lost();
    await wakeUpOr(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/** Presses a button; says what came of it. */
export async function press(card, token, text) {
  return await send("/inbox/press", text === undefined ? { card, token } : { card, token, text });
}

/** Gives a command, such as `pause`; says what came of it. */
export async function command(name) {
  return await send("/inbox/command", { name });
}

/** Reads a record, such as `history?agent=codex`: `{status, body}`; a sentence of what is wrong is `body.error`. */
export async function read(path) {
  return await ask("GET", `/inbox/api/${path}`);
}

/** Reads as `read` does, for one page: a reply that a later question has overtaken is `undefined`. */
export function latestReader() {
  let round = 0;
  return async (path) => {
    const mine = (round += 1);
    const reply = await read(path);
    return mine === round ? reply : undefined;
  };
}

/** Asks a question that changes nothing, such as `rules/explain`: `{status, body}`. */
export async function post(path, what) {
  return await ask("POST", `/inbox/api/${path}`, JSON.stringify(what));
}

/** A request of the page itself, such as `/inbox/push`: `{status, body}`. */
export async function request(method, path, what) {
  return await ask(method, path, what === undefined ? "" : JSON.stringify(what));
}

/** Revokes a grant. */
export async function revoke(id) {
  return await ask("DELETE", `/inbox/api/grants/${encodeURIComponent(id)}`);
}

async function ask(method, path, text = "") {
  const signal = AbortSignal.timeout(PRESS_LIMIT);
  try {
    const { headers } = await proven(method, path, text, signal);
    if (text) headers["content-type"] = "application/json";
    const response = await fetch(path, { method, headers, ...(text ? { body: text } : {}), cache: "no-store", signal });
    const body = await response.json().catch(() => ({ error: `countersign refused this (${response.status}).` }));
    return { status: response.status, body };
  } catch (problem) {
    const error = problem instanceof Stranger ? strangerSays() : "Not connected to countersign. Try again when it is back.";
    return { status: 0, body: { error } };
  }
}

async function send(path, what) {
  const body = JSON.stringify(what);
  const signal = AbortSignal.timeout(PRESS_LIMIT);
  try {
    const { headers } = await proven("POST", path, body, signal);
    const response = await fetch(path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      cache: "no-store",
      signal,
    });
    if (response.ok) return await response.json();
    return { outcome: "fault", sentence: await sentenceOf(response) };
  } catch (problem) {
    if (problem instanceof Stranger) return { outcome: "fault", sentence: strangerSays() };
    return {
      outcome: "fault",
      sentence: "countersign did not answer. The card will say whether the press arrived.",
    };
  }
}

/** The headers of a request to a countersign that has just proved itself. */
async function proven(method, path, body, signal) {
  const nonce = fresh();
  const response = await fetch(`/inbox/hello?nonce=${nonce}${signIn && `&session=${signIn}`}`, { cache: "no-store", credentials: "omit", signal });
  if (response.status >= 500) throw new Error("it is stopping or starting");
  const { challenge, proof } = await response.json().catch(() => ({}));
  if (proof !== await proofOf(key, "daemon", nonce, challenge)) throw new Stranger();
  return { challenge, headers: { [HEADER]: `${challenge}.${await proofOf(key, "page", challenge, method, path, body)}` } };
}

/** Forgets the key, when its sign-in is over. */
export function forgetKey() {
  sessionStorage.removeItem(PLACE);
}

/** The address brings the key once; it is kept where only this tab can read it, and dies with its daemon. */
function takeKey() {
  const found = /^#key=([\w.-]+)$/.exec(location.hash);
  // A page of the inbox (`#/history`) stays in the address.
  const place = location.hash.startsWith("#/") ? location.hash : "";
  if (location.search || (location.hash && !place)) history.replaceState(null, "", `/${place}`);
  try {
    localStorage.removeItem(PLACE);
    if (found) sessionStorage.setItem(PLACE, found[1]);
    return sessionStorage.getItem(PLACE) ?? "";
  } catch {
    return found ? found[1] : "";
  }
}

/**
 * SECURITY: no service worker stands between this page and the daemon. To keep the page's files one fetches them
 * without a proof, from whatever answers then; an impostor's files would outlive it. One that is there was left by
 * somebody else. The worker of `push.js` controls no page.
 */
async function forgetWorkers() {
  const workers = await navigator.serviceWorker?.getRegistrations().catch(() => []);
  for (const worker of workers ?? []) if (new URL(worker.scope).pathname !== PUSH) worker.unregister();
}

async function listen(body, challenge, silence, on) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, number] = ["", 0];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    silence.heard();
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const told = parse(event);
      if (!told) continue;
      const proof = await proofOf(key, "event", challenge, number, told.name, told.data);
      if (told.proof !== proof) throw new Stranger();
      number += 1;
      on[told.name](JSON.parse(told.data));
    }
  }
}

/** An event's name, data and proof; nothing for what only keeps the line alive. */
function parse(event) {
  const field = (name) => {
    const line = event.split("\n").find((line) => line.startsWith(name + ": "));
    return line?.slice(name.length + 2);
  };
  const [name, data, proof] = ["event", "data", "id"].map(field);
  return ["board", "card", "notice"].includes(name) ? { name, data, proof } : null;
}

function watchdog() {
  const controller = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), SILENCE);
  };
  heard();
  return { signal: controller.signal, heard, stop: () => { clearTimeout(timer); controller.abort(); } };
}

/** Waits, but not longer than until the person looks again or the network is back. @returns {Promise<void>} */
function wakeUpOr(pause) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      resolve();
    };
    const timer = setTimeout(wake, pause);
    window.addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
  });
}

async function sentenceOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `countersign refused this (${response.status}).`;
  }
}
