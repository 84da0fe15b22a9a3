// countersign for opencode: its permission prompts and questions reach your phone, and the first answer wins.
// `countersign connect opencode` makes this file, `countersign disconnect opencode` removes it.
//
// opencode's own dialog stays. For each request this starts COMMAND, gives it the event on stdin, and sends
// opencode the reply that it prints. It prints nothing while no daemon runs or when nobody answers: the dialog
// decides then. An answer in the dialog ends it, which takes the request back from the phone.
//
// With --gate in COMMAND every call waits here for its decision before it runs, under `opencode --auto` too, and is
// blocked where there is none. opencode's own prompts for a call that was approved are answered with it.

import { spawn } from "node:child_process"

const COMMAND = ["countersign","hook","opencode"];

/** How many sessions a subagent may be below the person's own. */
const DEEPEST = 8

export const Countersign = async ({ client, directory }) => {
  /** The requests that wait, with their hooks. */
  const waiting = new Map()

  /** The calls that wait for their decision, and those that were allowed. */
  const calls = new Set()
  const allowed = new Set()

  /** Starts the hook with an event; what it prints. */
  const hook = (event, request = {}, command = COMMAND.filter((word) => word !== "--gate")) =>
    new Promise((resolve) => {
      const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
      request.child = child
      let said = ""
      child.stdout.setEncoding("utf8").on("data", (text) => (said += text))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(""))
      child.on("close", () => resolve(said))
      child.stdin.end(JSON.stringify(event))
    })

  /** The title of a session, and the sessions above it, nearest first. */
  const origin = async (id) => {
    const above = []
    let title
    while (above.length < DEEPEST) {
      const { data } = await client.session.get({ path: { id } })
      title ??= data?.title
      if (!data?.parentID) break
      above.push((id = data.parentID))
    }
    return { title, above }
  }

  /** Sends opencode a reply; whether it took it. */
  const reply = async (url, body) => {
    const headers = { "content-type": "application/json" }
    try {
      const { error } = (await client._client.post({ url, body, headers })) ?? {}
      return !error
    } catch {
      return false
    }
  }

  const asked = async (type, properties) => {
    const { id, sessionID } = properties
    const earlier = waiting.get(id)
    if (earlier && !earlier.took) return
    const request = {}
    waiting.set(id, request)
    // An answer in the dialog takes the request out.
    const waits = () => waiting.get(id) === request
    const session = await origin(sessionID).catch(() => ({}))
    try {
      const said = waits() ? await hook({ type, properties, directory, session }, request) : ""
      if (!said.trim()) return
      const { path, body } = JSON.parse(said)
      // The dialog was faster than the answer that countersign has already: its card says so then.
      request.late = () => {
        request.late = () => {}
        const kind = type.startsWith("question") ? "countersign.overtaken.question" : "countersign.overtaken"
        hook({ type: kind, properties, directory, session }).catch(() => {})
      }
      request.sent = body
      request.took = waits() && (await reply(path, body))
      if (!request.took) request.late()
    } finally {
      // One that opencode took is taken out by its event.
      if (!request.took && waits()) waiting.delete(id)
    }
  }

  /** Takes a request out that was answered, here or in the dialog. */
  const answered = ({ requestID: id, reply }) => {
    const request = waiting.get(id)
    waiting.delete(id)
    if (!request?.sent) request?.child?.kill("SIGTERM")
    // Where opencode takes two replies at once, the first one counts, and this event tells which.
    else if (reply && request.sent.reply && reply !== request.sent.reply) request.late()
  }

  /** Waits for the decision on a call, and throws where it is not allowed to run. */
  const gate = async ({ tool, sessionID, callID }, { args }) => {
    const request = { sessionID }
    calls.add(request)
    let decision
    try {
      const session = await origin(sessionID).catch(() => ({}))
      const event = { type: "countersign.call", properties: { sessionID, tool, args }, directory, session }
      if (!request.over) decision = JSON.parse(await hook(event, request, COMMAND))
    } catch {
      // What cannot be read is no approval.
    }
    calls.delete(request)
    if (decision?.block !== false || request.over) {
      throw new Error(decision?.reason ?? "countersign could not decide on this call, so it is blocked.")
    }
    allowed.add(`${sessionID}/${callID}`)
  }

  /** Takes the calls of a session back whose turn is over. */
  const over = (sessionID) => {
    for (const request of calls) {
      if (request.sessionID !== sessionID) continue
      request.over = true
      request.child?.kill("SIGTERM")
    }
    for (const call of allowed) if (call.startsWith(`${sessionID}/`)) allowed.delete(call)
  }

  /** A prompt of opencode's own where every call is decided here. */
  const prompted = ({ id, sessionID, tool }, wire) => {
    if (!allowed.has(`${sessionID}/${tool?.callID}`)) return
    const path = wire === "v2." ? `/api/session/${sessionID}/permission/${id}/reply` : `/permission/${id}/reply`
    return reply(path, { reply: "once" })
  }

  return {
    ...(COMMAND.includes("--gate") ? { "tool.execute.before": gate } : {}),
    // Nothing here is awaited, and no error leaves it: opencode must neither wait for us nor fail.
    event: async ({ event }) => {
      // Events of the second version carry their fields as `data`.
      const { type, properties = event.data ?? {} } = event
      const [, kind, wire] = /^(permission|question)\.(v2\.)?asked$/.exec(type) ?? []
      if (kind === "permission" && COMMAND.includes("--gate")) {
        prompted(properties, wire)
      } else if (kind) {
        asked(type, properties).catch(() => {})
      } else if (/^(permission|question)\.(v2\.)?(replied|rejected)$/.test(type)) {
        answered(properties)
      } else if (type === "session.idle" || type === "session.error") {
        over(properties.sessionID)
      } else if (type === "session.deleted") {
        hook({ type, properties }).catch(() => {})
      }
    },
  }
}
