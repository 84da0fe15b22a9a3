// The key of this installation, and the secrets of its sessions.
//
// A grant for a session covers the calls of every process with the session's secret. It is derived
// from a key in a file of this user, as the program `countersign` does it, so both have the same.

import { createHmac, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Places } from "./places.ts";

/** The secret of a session; `null` if no key can be stored. */
export function sessionSecret(agent: string, session: string, places: Places): string | null {
  try {
    return derivedSecret(key(join(places.state, "client.key")), agent, session);
  } catch {
    // The session's grants then cover every caller that has no secret either.
    return null;
  }
}

/** The secret that belongs to this key. */
export function derivedSecret(key: string, agent: string, session: string): string {
  // The lengths (in bytes) come first, so that no two pairs of names give the same text.
  const lengths = `${Buffer.byteLength(agent)} ${Buffer.byteLength(session)}`;
  const about = `session ${lengths} ${agent}${session}`;
  return createHmac("sha256", key).update(about).digest("base64url");
}

/** Reads the key, and creates it on first use. */
function key(file: string): string {
  try {
    return read(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const made = `${file}.${randomBytes(8).toString("hex")}`;
  writeFileSync(made, randomBytes(32).toString("base64url"), { mode: 0o600, flag: "wx" });
  try {
    // Linked rather than renamed: if two processes create it at once, the second one reads the
    // first one's key.
    linkSync(made, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    unlinkSync(made);
  }
  return read(file);
}

function read(file: string): string {
  const key = readFileSync(file, "utf8").trim();
  // A damaged key is not replaced: other processes may still use the old one.
  if (key.length < 32) throw new Error(`${file} holds no key`);
  return key;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
