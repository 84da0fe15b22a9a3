// The passkeys of the person who is signed in: which they have, adding one, removing one.

import { $, el, put } from "./dom.js";
import { request } from "./line.js";
import { quiet } from "./parts.js";
import { canUsePasskeys, makePasskey } from "./passkey.js";
import { when } from "./time.js";

/** Wires the form. */
export function hangPasskeys() {
  $("passkey-form").addEventListener("submit", (event) => {
    event.preventDefault();
    add();
  });
}

/** Shows them in the dialog of the person; where there are none and none can be made, nothing. */
export async function showPasskeys() {
  const { status, body } = await request("GET", "/inbox/passkeys");
  $("passkeys").hidden = status === 404;
  if (status !== 200) return tell(status === 404 ? "" : body.error);
  const here = canUsePasskeys(body.origin);
  $("passkey-list").replaceChildren(...body.passkeys.map(row));
  $("passkey-form").hidden = !here || !body.recent;
  put($("passkey-hint"), hint(here, body));
}

function hint(here, { origin, recent, passkeys }) {
  if (!here) return window.PublicKeyCredential ? `Passkeys work at ${origin} alone.` : "This browser has no passkeys.";
  if (!recent) return "To add one, sign out and in again: that takes a sign-in of the last 10 minutes.";
  return passkeys.length > 0 ? "" : "With a passkey you sign in here without a link: by finger, face or PIN.";
}

function row(passkey) {
  const used = passkey.used_at === null ? "never used" : "used ";
  return el("li", {},
    el("span", {}, el("bdi", { textContent: passkey.name }), el("small", {}, " added ", when(passkey.created_at), `, ${used}`,
      passkey.used_at === null ? "" : when(passkey.used_at))),
    quiet("Remove", (button) => remove(passkey, button), { ariaLabel: `Remove ${passkey.name}` }));
}

async function add() {
  const name = $("passkey-name").value.trim();
  $("passkey-add").disabled = true;
  tell("Follow your device…");
  const error = await added(name);
  $("passkey-add").disabled = false;
  if (error) return tell(error);
  $("passkey-name").value = "";
  await showPasskeys();
  tell(`${name} can sign you in from now on.`);
}

/** Adds one; what went wrong. */
async function added(name) {
  const begun = await request("POST", "/inbox/passkeys/begin", {});
  if (begun.status !== 200) return begun.body.error;
  const passkey = await makePasskey(begun.body.publicKey);
  if (passkey.error) return passkey.error;
  const { status, body } = await request("POST", "/inbox/passkeys", { browser: begun.body.browser, name, passkey });
  return status === 200 ? "" : body.error;
}

async function remove(passkey, button) {
  // A second press is needed: who is signed in with it is signed out.
  if (button.dataset.sure !== "yes") {
    button.dataset.sure = "yes";
    put(button, "Really remove");
    return;
  }
  const { status, body } = await request("DELETE", `/inbox/passkeys/${encodeURIComponent(passkey.id)}`);
  if (status !== 200) return tell(body.error);
  await showPasskeys();
  tell(`${passkey.name} signs nobody in any more.`);
}

function tell(sentence) {
  put($("passkey-said"), sentence);
}
