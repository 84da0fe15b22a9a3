// Proofs of a token that do not contain it, for connections without TLS.
//
// As in SCRAM (RFC 5802): the daemon gives a nonce, and the client sends its token masked with
// HMACs over the nonce and its request, keyed by the token's hash. `src/tokens/proof.rs` is the
// other side.

import { createHash, createHmac } from "node:crypto";

/** The reply header with the daemon's own proof. */
export const REPLY = "x-countersign-proof";

/** The scheme of the `Authorization` header: `Countersign NONCE:MASKED`. */
export const SCHEME = "Countersign ";

/** The request that a proof covers; the proof is valid for no other. */
export interface ProvenRequest {
  nonce: string;
  method: string;
  target: string;
  body: Buffer;
}

/** The masked token. */
export function maskedToken(request: ProvenRequest, token: string): string {
  const [key, about, bytes] = [hash(token), aboutOf(request), Buffer.from(token)];
  const masked = Buffer.alloc(bytes.length);
  // Each block has a mask of its own: one mask would cancel out between the blocks.
  for (let start = 0; start < bytes.length; start += 32) {
    const mask = hmac(key, `mask ${start / 32}\n${about}`);
    for (let at = start; at < Math.min(start + 32, bytes.length); at += 1) {
      masked[at] = (bytes[at] ?? 0) ^ (mask[at - start] ?? 0);
    }
  }
  return masked.toString("base64url");
}

/** The proof that a reply comes from a daemon that knows the token. */
export function replyProof(
  request: ProvenRequest,
  token: string,
  status: number,
  body: Buffer,
): string {
  const about = `reply ${status}\n${digest(body)}\n${aboutOf(request)}`;
  return hmac(hash(token), about).toString("base64url");
}

function aboutOf({ nonce, method, target, body }: ProvenRequest): string {
  return `${nonce}\n${method}\n${target}\n${digest(body)}`;
}

function digest(body: Buffer): string {
  return createHash("sha256").update(body).digest("base64url");
}

function hash(token: string): string {
  return `sha256:${createHash("sha256").update(token).digest("hex")}`;
}

function hmac(key: string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
