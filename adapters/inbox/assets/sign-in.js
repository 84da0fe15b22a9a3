// Signs a person in with the code that the link brings behind its `#`, where no server sees it.

import { $, put } from "./dom.js";
import { canProve } from "./proof.js";

const NO_CODE = "This link is not whole. Write /login to the bot for a new one.";
const NO_PROOFS = "A browser signs in only on this machine or over https. Open the link on the machine of the daemon, " +
  "or ask its operator for an https address ([daemon] public_url).";
const AWAY = "Not connected to countersign. Try again when it is back.";

const code = location.hash.slice(1);
// Neither the history nor a screenshot keeps the code.
history.replaceState(null, "", location.pathname);

if (!code) tell(NO_CODE);
else if (!canProve) tell(NO_PROOFS);
else ask();

async function ask() {
  const { status, body } = await send("/inbox/sign-in/offer");
  if (status !== 200) return tell(body.error);
  put($("whom"), `Sign in as ${body.name}?`);
  document.title = `Sign in as ${body.name}?`;
  tell("Your answers in this browser will carry this name. The link works once.");
  $("go").hidden = false;
  $("go").addEventListener("click", enter);
  $("go").focus();
}

async function enter() {
  $("go").disabled = true;
  const { status, body } = await send("/inbox/sign-in");
  if (status === 200) return location.replace(body.entrance);
  tell(body.error);
  $("go").hidden = status !== 0;
  $("go").disabled = false;
}

async function send(path) {
  try {
    const response = await fetch(path, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }), cache: "no-store",
    });
    const body = await response.json().catch(() => ({ error: `countersign refused this (${response.status}).` }));
    return { status: response.status, body };
  } catch {
    return { status: 0, body: { error: AWAY } };
  }
}

function tell(sentence) {
  put($("said"), sentence);
}
