// oh-my-pi asks through countersign: every tool call is ruled on by the daemon, and what needs a person
// becomes a card on their phone, subagents' calls too. Put this file into ~/.omp/agent/extensions/ and
// start `omp --yolo`, so that the terminal does not ask a second time.
//
// Environment: COUNTERSIGN_SOCKET, the daemon's socket [default: that of `countersign serve`];
// or COUNTERSIGN_URL and COUNTERSIGN_TOKEN (the agent's token) for a daemon over HTTP.
//
// Whatever goes wrong on the way blocks the call and says why.

import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { homedir, hostname } from "node:os";
import { join } from "node:path";

/** What oh-my-pi's own tools declare; a tool that is not here counts as exec. */
const TIERS = {
  read: "read", grep: "read", glob: "read", find: "read", ls: "read", ast_grep: "read",
  todo: "read", web_search: "read",
  write: "write", edit: "write", ast_edit: "write",
};

/** Questions to the person at the terminal; asking whether to ask helps nobody. */
const OWN_DIALOGS = new Set(["ask"]);

/** How long one request is held, and how long a daemon may be away; seconds. */
const HELD = 50;
const OUTAGE = 120;

export default function countersign(pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (OWN_DIALOGS.has(event.toolName)) return undefined;
    const call = describe(event, ctx);
    try {
      const answer = await decided(call);
      if (answer.verdict === "allow") return undefined;
      return { block: true, reason: answer.message ?? answer.reason ?? "Denied." };
    } catch (error) {
      return { block: true, reason: `countersign could not be asked: ${error.message}` };
    }
  });
}

/** The call as countersign wants it. */
export function describe(event, ctx) {
  const sub = ctx?.agent?.kind === "sub" ? ctx.agent.name : undefined;
  const tier = event.toolName.startsWith("mcp__") ? "write" : TIERS[event.toolName];
  const declared = declaration(event, tier);
  const session = ctx?.sessionManager?.getSessionId?.() ?? `process ${process.pid}`;
  return {
    key: event.toolCallId ?? randomUUID(),
    agent: "oh-my-pi",
    session,
    session_secret: secret("oh-my-pi", session),
    worker: sub,
    host: hostname(),
    cwd: ctx?.cwd ?? process.cwd(),
    tool: event.toolName,
    args: event.input ?? {},
    ...declared,
  };
}

let key;

/**
 * What binds the approvals of this session to this user: worked out, as countersign's own programs do it, from
 * the key that they keep; where there is none, from one that this process makes.
 */
function secret(agent, session) {
  key ??= keyOfThisUser() ?? randomBytes(32).toString("base64url");
  const [a, s] = [agent, session].map((name) => Buffer.byteLength(name));
  return createHmac("sha256", key).update(`session ${a} ${s} ${agent}${session}`).digest("base64url");
}

function keyOfThisUser() {
  const state = process.env.XDG_STATE_HOME ?? join(homedir(), ".local", "state");
  try {
    const kept = readFileSync(join(state, "countersign", "client.key"), "utf8").trim();
    return kept.length >= 32 ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** What the tool says of itself, where the event carries it; else what its name says. */
function declaration(event, tier) {
  const said = event.approval;
  if (typeof said === "string") return { tier: said };
  if (said && typeof said === "object") {
    const { tier: own, override, policy, policyKey, reason } = said;
    return { tier: own, override, policy, policyKey, reason };
  }
  return { tier };
}

/**
 * Hands the call in and waits until it is decided; the same key is the same ask. A daemon that was there
 * and went away, such as over its restart, is waited for.
 */
export async function decided(call) {
  let last; // when it was there
  for (;;) {
    try {
      const answer = await post(`/v1/calls?wait=${HELD}`, call);
      if (answer.verdict !== "ask") return answer;
      last = Date.now();
    } catch (error) {
      if (error.lost) last ??= Date.now();
      if (!error.passing || last === undefined || Date.now() - last > OUTAGE * 1000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function post(path, body) {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  const { client, options } = server(headers);
  return new Promise((resolve, reject) => {
    let lost = false; // it was reached and went away
    const failed = (message, passing) =>
      reject(Object.assign(new Error(message), { passing, lost }));
    const request = client.request({ ...options, path, method: "POST", headers }, (reply) => {
      let said = "";
      reply.setEncoding("utf8");
      reply.on("data", (chunk) => (said += chunk));
      reply.on("error", (error) => failed(error.message, true));
      reply.on("end", () => {
        const passing = [502, 503, 504].includes(reply.statusCode);
        try {
          const answer = JSON.parse(said);
          if (reply.statusCode < 300 && answer.verdict) resolve(answer);
          else failed(answer.error ?? `it answered ${reply.statusCode}`, passing);
        } catch {
          failed(`its answer (${reply.statusCode}) cannot be read`, passing);
        }
      });
    });
    request.setTimeout((HELD + 15) * 1000, () => request.destroy(new Error("it does not answer")));
    request.on("socket", (socket) => socket.once("connect", () => (lost = true)));
    request.on("error", (error) => failed(error.message, true));
    request.end(text);
  });
}

/** Where the daemon is. */
function server(headers) {
  const { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: token } = process.env;
  if (url) {
    if (token) headers.authorization = `Bearer ${token}`;
    const { protocol, hostname: host, port } = new URL(url);
    return { client: protocol === "https:" ? https : http, options: { host, port } };
  }
  return { client: http, options: { socketPath: socket() } };
}

/** Where `countersign serve` makes its socket unless its config says otherwise. */
function socket() {
  const { COUNTERSIGN_SOCKET, XDG_RUNTIME_DIR } = process.env;
  if (COUNTERSIGN_SOCKET) return COUNTERSIGN_SOCKET;
  if (XDG_RUNTIME_DIR) return join(XDG_RUNTIME_DIR, "countersign", "countersign.sock");
  throw new Error("set COUNTERSIGN_SOCKET to the socket that the daemon's config names");
}
