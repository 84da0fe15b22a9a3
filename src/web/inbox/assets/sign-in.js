// Signs a person in: with the code that the link brings behind its `#`, where no server sees it, or through the
// identity provider, which leads the browser back to this page, or with a passkey.

import { $, put } from "./dom.js";
import { canUsePasskeys, showPasskey } from "./passkey.js";
import { canProve } from "./proof.js";

const NO_CODE = "This link is incomplete. Send /login to the bot for a new one.";
const NO_PROOFS = "A browser signs in only on this machine or over https. Open the link on the machine of the daemon, " +
  "or ask its operator for an https address ([daemon] public_url).";
const AWAY = "Not connected to countersign. Try again when it is back.";

// Shows that this tab began. No other site, port or tab reads or plants it.
const BEGUN = "countersign-begun";
const NAMED = "Your answers in this browser will carry your name.";
const FINISHING = "Signing in…";

const code = location.hash.slice(1);
const back = new URLSearchParams(location.search);
// Neither the history nor a screenshot keeps the code.
history.replaceState(null, "", location.pathname);

if (!canProve) tell(NO_PROOFS);
else if (code) ask();
else if (back.has("state") && back.has("code")) finish();
else offerWays(back.get("error"));

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

/** Offers to sign in in the ways that there are here; `error` is what the identity provider said before. */
async function offerWays(error) {
  const { status, body } = await receive("/inbox/sign-in/ways", {});
  if (status !== 200) return tell(body.error);
  if (canUsePasskeys(body.passkey)) offerPasskey();
  if (!body.oidc) return tell($("passkey").hidden ? NO_CODE : NAMED);
  const refused = `${body.oidc} did not sign you in${/^[a-z_]+$/.test(error ?? "") ? ` (${error})` : ""}.`;
  tell(error === null ? NAMED : refused);
  put($("go"), `Sign in with ${body.oidc}`);
  $("go").hidden = false;
  $("go").addEventListener("click", leave);
  if ($("passkey").hidden) $("go").focus();
}

function offerPasskey() {
  $("passkey").hidden = false;
  $("passkey").addEventListener("click", enterByPasskey);
  $("passkey").focus();
}

async function enterByPasskey() {
  $("passkey").disabled = true;
  tell("Follow your device…");
  const refused = await byPasskey();
  $("passkey").disabled = false;
  if (refused) tell(refused);
}

/** Signs in with a passkey; what went wrong. */
async function byPasskey() {
  const begun = await send("/inbox/passkey/begin", {});
  if (begun.status !== 200) return begun.body.error;
  const passkey = await showPasskey(begun.body.publicKey);
  if (passkey.error) return passkey.error;
  const { status, body } = await send("/inbox/passkey/finish", { browser: begun.body.browser, passkey });
  if (status !== 200) return body.error;
  location.replace(body.entrance);
  return "";
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
  await offerWays(null);
  tell(body.error);
}

/** @param {object} what */
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
