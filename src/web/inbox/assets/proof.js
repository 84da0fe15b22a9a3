// Proofs that this page holds the inbox's key, made by the browser's own cryptography.

const utf8 = new TextEncoder();

/** Whether the browser lends its cryptography here: on this machine, and over https. */
export const canProve = Boolean(window.isSecureContext && crypto.subtle);

/** 128 random bits. */
export function fresh() {
  return base64url(crypto.getRandomValues(new Uint8Array(16)));
}

/** The proof over some lines; it says nothing about the key. */
export async function proofOf(key, ...lines) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const hmac = await crypto.subtle.importKey("raw", utf8.encode(key), algorithm, false, ["sign"]);
  return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", hmac, utf8.encode(lines.join("\n")))));
}

function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
