// Extension for oh-my-pi. The countersign daemon decides every tool call, those of subagents too. A call
// that needs a person becomes a card on their phone. Put this file into ~/.omp/agent/extensions/ and start
// `omp --yolo`, so that the terminal does not ask a second time.
//
// Environment: COUNTERSIGN_SOCKET, the daemon's socket [default: that of `countersign serve`];
// or COUNTERSIGN_URL and COUNTERSIGN_TOKEN (the agent token) for a daemon over HTTP.
//
// Every failure blocks the call and says why.

import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { homedir, hostname } from "node:os";
import { join } from "node:path";

/** The tiers that oh-my-pi's own tools declare; any other tool counts as exec. */
const TIERS = {
  read: "read", grep: "read", glob: "read", find: "read", ls: "read", ast_grep: "read",
  todo: "read", web_search: "read",
  write: "write", edit: "write", ast_edit: "write",
};

/** Tools that ask the person at the terminal; they need no approval to ask. */
const OWN_DIALOGS = new Set(["ask"]);

/** How long one request is held, and how long a daemon may be unreachable; seconds. */
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

/** The call in the format of `POST /v1/calls`. */
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
 * The secret that binds the approvals of this session to this user. It is derived from the key that
 * countersign's own programs store and derive theirs from; without that file, from a key of this process.
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

/** The tool's own declaration, where the event carries it; else the tier of its name. */
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
 * Submits the call and waits for the decision; the same key is the same ask. It retries while a daemon that
 * answered before is unreachable, for example during its restart.
 */
export async function decided(call) {
  let last; // when the daemon last answered
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
    let lost = false; // the connection was made and then lost
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

/** The daemon's address. */
function server(headers) {
  const { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: token } = process.env;
  if (url) {
    if (token) headers.authorization = `Bearer ${token}`;
    const { protocol, hostname: host, port } = new URL(url);
    return { client: protocol === "https:" ? https : http, options: { host, port } };
  }
  return { client: http, options: { socketPath: socket() } };
}

/** The default socket of `countersign serve`. */
function socket() {
  const { COUNTERSIGN_SOCKET, XDG_RUNTIME_DIR } = process.env;
  if (COUNTERSIGN_SOCKET) return COUNTERSIGN_SOCKET;
  if (XDG_RUNTIME_DIR) return join(XDG_RUNTIME_DIR, "countersign", "countersign.sock");
  throw new Error("set COUNTERSIGN_SOCKET to the socket that the daemon's config names");
}
