import { $ } from "./dom.js";
import { canUsePasskeys } from "./passkey.js";

// A link from another site brings the key, but the browser holds a strict cookie back on that first
// visit. Going on from here is a visit of our own, so the cookie comes along. Tried once.
if (location.hash.startsWith("#key=") && location.search !== "?again") {
  location.replace("/?again" + location.hash);
}

const { oidc, passkey } = await fetch("/inbox/sign-in/ways", { cache: "no-store" }).then((reply) => reply.json()).catch(() => ({}));
if (canUsePasskeys(passkey)) $("passkey-door").hidden = false;
if (oidc) {
  $("provider").querySelector("bdi").textContent = oidc;
  $("provider").hidden = false;
}
