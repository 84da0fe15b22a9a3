// Who is signed in on this page, and signing out.

import { $, put } from "./dom.js";
import { forgetKey, request } from "./line.js";
import { canUsePasskeys } from "./passkey.js";
import { hangPasskeys, showPasskeys } from "./passkeys.js";
import { pushOff } from "./push.js";

/** Shows the name of the person who is signed in; where nobody is, the way to sign in. */
export async function showPerson() {
  const { status, body } = await request("GET", "/inbox/me");
  if (status !== 200) return;
  if (!body.name) {
    $("go-in").hidden = !body.ways.oidc && !canUsePasskeys(body.ways.passkey);
    return;
  }
  $("go-in").hidden = true;
  put($("me").querySelector("bdi"), body.name);
  put($("person-name"), body.name);
  $("me").hidden = false;
}

/** Wires the button and its dialog. */
export function hangPerson() {
  $("me").addEventListener("click", () => {
    $("person").showModal();
    showPasskeys();
  });
  hangPasskeys();
  $("sign-out").addEventListener("click", signOut);
}

async function signOut() {
  // Who uses this browser next reads no requests of this person.
  await pushOff().catch(() => {});
  const { status, body } = await request("POST", "/inbox/sign-out", {});
  if (status !== 200) {
    put($("person-said"), body.error);
    $("person-said").hidden = false;
    return;
  }
  forgetKey();
  location.replace("/");
}
