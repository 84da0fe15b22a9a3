// Signs a person in: with the code that the link brings behind its `#`, where no server sees it, or through the
// identity provider, which leads the browser back to this page.

import { $, put } from "./dom.js";
import { canProve } from "./proof.js";

const NO_CODE = "This link is not whole. Write /login to the bot for a new one.";
const NO_PROOFS = "A browser signs in only on this machine or over https. Open the link on the machine of the daemon, " +
  "or ask its operator for an https address ([daemon] public_url).";
const AWAY = "Not connected to countersign. Try again when it is back.";

// Shows that this tab began. No other site, port or tab reads or plants it.
const BEGUN = "countersign-begun";
const FINISHING = "Signing in…";

const code = location.hash.slice(1);
const back = new URLSearchParams(location.search);
// Neither the history nor a screenshot keeps the code.
history.replaceState(null, "", location.pathname);

if (!canProve) tell(NO_PROOFS);
else if (code) ask();
else if (back.has("state") && back.has("code")) finish();
else offerProvider(back.get("error"));

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

/** Offers to sign in through the identity provider, where there is one; `error` is what it said before. */
async function offerProvider(error) {
  const { status, body } = await receive("/inbox/sign-in/ways", {});
  if (status !== 200) return tell(body.error);
  if (!body.oidc) return tell(NO_CODE);
  const refused = `${body.oidc} did not sign you in${/^[a-z_]+$/.test(error ?? "") ? ` (${error})` : ""}.`;
  tell(error === null ? "Your answers in this browser will carry your name." : refused);
  put($("go"), `Sign in with ${body.oidc}`);
  $("go").hidden = false;
  $("go").addEventListener("click", leave);
  $("go").focus();
}

/** On to the provider. */
async function leave() {
  $("go").disabled = true;
  const { status, body } = await send("/inbox/oidc/begin", {});
  if (status === 200) {
    sessionStorage.setItem(BEGUN, body.browser);
    return location.assign(body.to);
  }
  tell(body.error);
  $("go").disabled = false;
}

/** Back from the provider. */
async function finish() {
  tell(FINISHING);
  const brought = { code: back.get("code"), state: back.get("state"), browser: sessionStorage.getItem(BEGUN) ?? "" };
  sessionStorage.removeItem(BEGUN);
  if (back.has("iss")) brought.iss = back.get("iss");
  const { status, body } = await send("/inbox/oidc/finish", brought);
  if (status === 200) return location.replace(body.entrance);
  await offerProvider(null);
  tell(body.error);
}

async function send(path, what = { code }) {
  return await receive(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(what),
  });
}

async function receive(path, how) {
  try {
    const response = await fetch(path, { ...how, cache: "no-store" });
    const body = await response.json().catch(() => ({ error: `countersign refused this (${response.status}).` }));
    return { status: response.status, body };
  } catch {
    return { status: 0, body: { error: AWAY } };
  }
}

function tell(sentence) {
  put($("said"), sentence);
}
