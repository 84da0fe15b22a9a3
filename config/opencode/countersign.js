// countersign for opencode: its permission prompts and questions reach your phone, and the first answer wins.
// `countersign connect opencode` makes this file, `countersign disconnect opencode` removes it.
//
// opencode's own dialog stays. For each request this starts COMMAND, gives it the event on stdin, and sends
// opencode the reply that it prints. It prints nothing while no daemon runs or when nobody answers: the dialog
// decides then. An answer in the dialog ends it, which takes the request back from the phone.

import { spawn } from "node:child_process"

const COMMAND = ["countersign","hook","opencode"];

/** How many sessions a subagent may be below the person's own. */
const DEEPEST = 8

export const Countersign = async ({ client, directory }) => {
  /** The requests that wait, with their hooks. */
  const waiting = new Map()

  /** Starts the hook with an event; what it prints. */
  const hook = (event, request = {}) =>
    new Promise((resolve) => {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
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

  return {
    // Nothing here is awaited, and no error leaves it: opencode must neither wait for us nor fail.
    event: async ({ event }) => {
      // Events of the second version carry their fields as `data`.
      const { type, properties = event.data ?? {} } = event
      if (/^(permission|question)\.(v2\.)?asked$/.test(type)) {
        asked(type, properties).catch(() => {})
      } else if (/^(permission|question)\.(v2\.)?(replied|rejected)$/.test(type)) {
        answered(properties)
      } else if (type === "session.deleted") {
        hook({ type, properties }).catch(() => {})
      }
    },
  }
}
