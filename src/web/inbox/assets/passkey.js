// The browser's side of passkeys: bytes to and from base64url, and what it says when it makes or shows none.

/** Whether passkeys of this origin can be used in this browser. */
export const canUsePasskeys = (origin) => Boolean(origin) && origin === location.origin && Boolean(window.PublicKeyCredential);

/** Makes a passkey as `publicKey` of the reply asks: what the daemon is sent, or `{error}`. */
export async function makePasskey(publicKey) {
  const exclude = publicKey.excludeCredentials.map((known) => ({ ...known, id: bytes(known.id) }));
  const user = { ...publicKey.user, id: bytes(publicKey.user.id) };
  const asked = { ...publicKey, user, challenge: bytes(publicKey.challenge), excludeCredentials: exclude };
  try {
    const { id, response } = /** @type {any} */ (await navigator.credentials.create({ publicKey: asked }));
    const key = response.getPublicKey?.();
    if (!key) return { error: "This browser does not hand out the key of a passkey. Use a newer one." };
    return {
      id,
      clientDataJSON: text(response.clientDataJSON),
      authenticatorData: text(response.getAuthenticatorData()),
      publicKey: text(key),
      algorithm: response.getPublicKeyAlgorithm(),
    };
  } catch (problem) {
    return { error: why(problem) };
  }
}

/** Shows a passkey as `publicKey` of the reply asks: what the daemon is sent, or `{error}`. */
export async function showPasskey(publicKey) {
  try {
    const { id, response } = /** @type {any} */ (await navigator.credentials.get({ publicKey: { ...publicKey, challenge: bytes(publicKey.challenge) } }));
    return {
      id,
      clientDataJSON: text(response.clientDataJSON),
      authenticatorData: text(response.authenticatorData),
      signature: text(response.signature),
      userHandle: response.userHandle && response.userHandle.byteLength > 0 ? text(response.userHandle) : null,
    };
  } catch (problem) {
    return { error: why(problem) };
  }
}

function why(problem) {
  switch (problem.name) {
    case "NotAllowedError": return "No passkey was used: it was cancelled, took too long, or this device has none for this inbox.";
    case "InvalidStateError": return "This device has a passkey for this inbox already.";
    case "NotSupportedError": return "This device cannot make a passkey that this inbox takes.";
    default: return `The browser used no passkey (${problem.name}).`;
  }
}

function bytes(encoded) {
  const plain = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

function text(buffer) {
  const plain = btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
