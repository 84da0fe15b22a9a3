// Reads the config's TOML.

import { parse, TomlError, type TomlTable, type TomlValue } from "smol-toml";
import { SetUp } from "./errors.ts";

export type { TomlTable, TomlValue };

/** Reads a file. */
export function readToml(text: string): TomlTable {
  try {
    // What others wrote may be a number that is too long for JavaScript.
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // SECURITY: what comes after the first line shows the file, which may hold a token.
    const why = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    throw new SetUp(`line ${error.line}: ${why}`);
  }
}

/** Reads one value, as a variable holds it; `undefined` where it is no value. */
export function readTomlValue(text: string): TomlValue | undefined {
  try {
    return readToml(`value = ${text}`)["value"];
  } catch {
    return undefined;
  }
}
