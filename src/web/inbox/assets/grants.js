// Grants: what holds without asking, since when, until when, and how much it is used. Each can be revoked.

import { el, say } from "./dom.js";
import { latestReader, revoke } from "./line.js";
import { byWhom, counted, facts, pageHead, quiet, sentence } from "./parts.js";
import { when } from "./time.js";

const SCOPES = { session: "session", timed: "for a time", always: "always", budget: "once", review: "asks, a review said" };
const read = latestReader();

export const grants = { show };

async function show(part) {
  const reply = await read("grants");
  if (!reply) return;
  const { status, body } = reply;
  const list = status === 200 ? body.grants : [];
  part.replaceChildren(el("div", { className: "wide" },
    pageHead("grants", "Grants"),
    el("p", { className: "lead", textContent: "Approvals that outlast one call. Guardrails override them." }),
    status === 200 ? "" : sentence(body.error, "wrong"),
    el("div", { className: "said", role: "status" }),
    status === 200 && list.length === 0 ? sentence("No grant holds.") : "",
    el("ul", { className: "tiles" }, ...list.map((grant) => draw(part, grant)))));
}

function draw(part, grant) {
  const title = el("h3", { id: `grant-${grant.id}` }, el("bdi", { className: "first", dir: "ltr", textContent: grant.rule }));
  const used = grant.used === undefined ? undefined
    : grant.used === 0 ? "not yet" : counted(grant.used, "time");
  const last = grant.last_used_at && el("span", {}, when(grant.last_used_at),
    grant.last_call ? el("bdi", { className: "first", dir: "ltr", textContent: ` ${grant.last_call}` }) : "");
  return el("li", { className: "tile", "data-grant": grant.id, "aria-labelledby": title.id },
    el("div", { className: "tile-head" }, title, confirmed(part, grant)),
    facts([
      ["Scope", SCOPES[grant.scope] ?? grant.scope],
      ["Agent", grant.agent],
      ["Session", grant.session],
      ["By", byWhom(grant.by)],
      ["Since", when(grant.created_at)],
      ["Until", grant.expires_at ? when(grant.expires_at) : grant.scope === "session" ? "the session ends" : "it is revoked"],
      ["Used", used],
      ["Last for", last],
    ]));
}

/** Revoke asks once more in place, and says what came of it. */
function confirmed(part, grant) {
  const box = el("div", { className: "confirmed" });
  const ask = quiet("Revoke", () => {
    box.replaceChildren(el("span", { textContent: grant.scope === "review" ? "Such calls may run without asking again." : "Agents ask again from now on." }), yes, no);
    no.focus();
  }, { "aria-describedby": `grant-${grant.id}` });
  const yes = quiet("Yes, revoke", async () => {
    yes.disabled = no.disabled = true;
    const { status, body } = await revoke(grant.id);
    if (status === 200 || status === 404) await show(part);
    else {
      yes.disabled = no.disabled = false;
      box.replaceChildren(ask);
    }
    tell(part, status === 200 ? `Revoked: ${grant.rule}` : body.error, status === 200 ? "calm" : "wrong");
  }, { className: "quiet danger" });
  const no = quiet("Keep", () => {
    box.replaceChildren(ask);
    ask.focus();
  });
  box.append(ask);
  return box;
}

function tell(part, text, tone) {
  part.querySelector(".said").replaceChildren(sentence(text, tone));
  say(text);
}
