// Reads the config's TOML: tables, keys, texts, booleans, numbers and lists. Everything else that
// TOML has (dates, inline tables) is read past, because no setting of a client is one.

import { SetUp } from "./errors.ts";

/** A value: what is no text, boolean, number or list of those is `null`. */
export type TomlValue = string | boolean | number | null | TomlValue[] | TomlTable;

/** A table, by key. */
export interface TomlTable {
  [key: string]: TomlValue;
}

const ESCAPES: Record<string, string> = {
  b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\x1b", '"': '"', "\\": "\\",
};

/** Reads a file. */
export function readToml(text: string): TomlTable {
  return new Reader(text).file();
}

/** Reads one value, as a variable holds it; `undefined` where it is no value. */
export function readTomlValue(text: string): TomlValue | undefined {
  try {
    return readToml(`value = ${text}`)["value"];
  } catch {
    return undefined;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.replaceAll("\r\n", "\n");
  }

  file(): TomlTable {
    const root: TomlTable = newTable();
    let table = root;
    for (this.#blank(); this.#at < this.#text.length; this.#blank()) {
      if (this.#take("[[")) {
        // Lists of tables are for others; what is in them must not count as the table before.
        this.#path();
        this.#want("]]");
        table = newTable();
      } else if (this.#take("[")) {
        table = this.#table(root, this.#path());
        this.#want("]");
      } else {
        this.#pair(table);
      }
      this.#lineEnd();
    }
    return root;
  }

  #pair(table: TomlTable): void {
    const path = this.#path();
    const key = path.pop() ?? "";
    this.#want("=");
    const target = this.#table(table, path);
    if (Object.hasOwn(target, key)) this.#fail(`\`${key}\` stands there twice`);
    target[key] = this.#value();
  }

  #table(from: TomlTable, path: string[]): TomlTable {
    let table = from;
    for (const key of path) {
      const next = Object.hasOwn(table, key) ? table[key] : (table[key] = newTable());
      if (typeof next !== "object" || next === null || Array.isArray(next)) {
        this.#fail(`\`${key}\` is no table`);
      }
      table = next;
    }
    return table;
  }

  #path(): string[] {
    const path = [];
    do {
      this.#space();
      const quote = this.#text[this.#at];
      if (quote === '"' || quote === "'") path.push(this.#string());
      else path.push(this.#match(/[A-Za-z0-9_-]+/y) ?? this.#fail("a key is missing"));
      this.#space();
    } while (this.#take("."));
    return path;
  }

  #value(): TomlValue {
    this.#space();
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") return this.#string();
    if (this.#take("[")) return this.#list();
    if (this.#take("{")) return this.#inlineTable();
    const word = this.#match(/[A-Za-z0-9_+:.-]+( [0-9]{2}:[0-9:.Z+-]+)?/y);
    if (word === null) this.#fail("a value is missing");
    if (word === "true" || word === "false") return word === "true";
    if (/^[+-]?[0-9][0-9_]*$/.test(word)) return Number(word.replaceAll("_", ""));
    // A float, another base or a date; never a bare word.
    return /^[+-]?([0-9]|inf$|nan$)/.test(word) ? null : this.#fail(`\`${word}\` wants quotes`);
  }

  #list(): TomlValue[] {
    const list: TomlValue[] = [];
    for (this.#blank(); !this.#take("]"); this.#blank()) {
      list.push(this.#value());
      this.#blank();
      if (this.#take(",")) continue;
      this.#want("]");
      return list;
    }
    return list;
  }

  #inlineTable(): TomlTable {
    const table = newTable();
    for (this.#blank(); !this.#take("}"); this.#blank()) {
      this.#pair(table);
      this.#blank();
      if (this.#take(",")) continue;
      this.#want("}");
      return table;
    }
    return table;
  }

  #string(): string {
    for (const quote of ['"""', "'''", '"', "'"]) {
      if (this.#take(quote)) return this.#until(quote);
    }
    return this.#fail("a text is missing");
  }

  #until(quote: string): string {
    const several = quote.length === 3;
    const literal = quote.startsWith("'");
    if (several) this.#take("\n");
    let text = "";
    while (!this.#ends(quote)) {
      const character = this.#text[this.#at];
      if (character === undefined || (character === "\n" && !several)) {
        this.#fail("a text does not end");
      }
      this.#at += 1;
      text += character === "\\" && !literal ? this.#escape() : character;
    }
    this.#at += quote.length;
    return text;
  }

  #ends(quote: string): boolean {
    // Up to two quotes may stand before the three that end a text.
    const here = this.#text.startsWith(quote, this.#at);
    return here && (quote.length === 1 || this.#text[this.#at + 3] !== quote[0]);
  }

  #escape(): string {
    if (this.#match(/[ \t]*\n\s*/y) !== null) return "";
    const code = this.#match(/x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/y);
    if (code !== null) {
      const point = Number.parseInt(code.slice(1), 16);
      if (point > 0x10ffff) this.#fail("an escape names no character");
      return String.fromCodePoint(point);
    }
    const escaped = ESCAPES[this.#text[this.#at] ?? ""];
    if (escaped === undefined) this.#fail("an escape is unknown");
    this.#at += 1;
    return escaped;
  }

  /** Skips whitespace, line breaks and comments. */
  #blank(): void {
    this.#match(/(?:\s|#[^\n]*)*/y);
  }

  #space(): void {
    this.#match(/[ \t]*/y);
  }

  #lineEnd(): void {
    if (this.#match(/[ \t]*(#[^\n]*)?(\n|$)/y) === null) this.#fail("a line goes on after its end");
  }

  #take(text: string): boolean {
    const here = this.#text.startsWith(text, this.#at);
    if (here) this.#at += text.length;
    return here;
  }

  #want(text: string): void {
    this.#space();
    if (!this.#take(text)) this.#fail(`\`${text}\` is missing`);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  #fail(why: string): never {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    throw new SetUp(`line ${line}: ${why}`);
  }
}

function newTable(): TomlTable {
  // Without a prototype, so that no key of a file is one of every object.
  return Object.create(null) as TomlTable;
}
