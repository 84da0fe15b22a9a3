// The daemons' addresses and the token, found where the program `countersign` finds them.

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { dirname, join, resolve } from "node:path";
import { SetUp } from "./errors.ts";
import { type Environment, type Places, placesOfThisUser, resolvePath } from "./places.ts";
import { readToml, readTomlValue, type TomlTable, type TomlValue } from "./toml.ts";

/** The address of a daemon: its unix socket, as the same user, or http or https. */
export type Server = { kind: "unix"; path: string } | { kind: "http"; url: URL };

/** The settings of the client. */
export interface ClientSettings {
  /** The daemons, tried in this order; any of them can serve a request. */
  servers: Server[];
  /** The agent token, for a daemon over HTTP. */
  token: string | null;
  /** A PEM file with an additional certificate authority. */
  caFile: string | null;
  places: Places;
}

const PREFIX = "COUNTERSIGN__";

/** The settings for daemons at these addresses: `unix:PATH`, `https://…` or `http://…`. */
export function settingsFor(
  urls: string | string[],
  given: { token?: string; caFile?: string } = {},
): ClientSettings {
  const places = placesOfThisUser();
  const servers = [urls].flat().map((url) => readServer(url, places, process.cwd(), false));
  return { servers, places, token: given.token ?? null, caFile: given.caFile ?? null };
}

/**
 * Reads `[client]` of `file`, else of `$COUNTERSIGN_CONFIG`, else of the default config.
 * `COUNTERSIGN__CLIENT__URL` and the other variables override it.
 */
export function loadSettings(file?: string, env: Environment = process.env): ClientSettings {
  const places = placesOfThisUser(env);
  const named = file ?? (env["COUNTERSIGN_CONFIG"] || undefined);
  const path = resolve(named ?? join(places.config, "countersign.toml"));
  let root: TomlTable = {};
  try {
    root = readToml(readFileSync(path, "utf8"));
  } catch (error) {
    const absent = error instanceof Error && "code" in error && error.code === "ENOENT";
    // Only the default file may be absent.
    if (absent && named !== undefined) throw new SetUp(`the config ${path} does not exist`);
    if (!absent) throw new SetUp(`the config ${path} cannot be read: ${sentence(error)}`);
  }
  return read(root, dirname(path), places, env);
}

/** The address as people write it. */
export function serverText(server: Server): string {
  return server.kind === "unix" ? `unix:${server.path}` : server.url.href.replace(/\/+$/, "");
}

function readServer(text: string, places: Places, base: string, insecure: boolean): Server {
  if (text.startsWith("unix:")) {
    const path = text.slice(5).replace(/^\/\//, "");
    return { kind: "unix", path: resolvePath(places, base, path) };
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  const http = url !== null && ["http:", "https:"].includes(url.protocol);
  if (url === null || !http || url.username !== "" || url.search !== "") {
    throw new SetUp(`[client] url must be \`unix:PATH\` or \`https://HOST:PORT\`, not \`${text}\``);
  }
  // SECURITY: tokens and commands would cross the network in clear text.
  if (url.protocol === "http:" && !insecure && !isLoopback(url.hostname)) {
    throw new SetUp(
      `[client] url ${text} is plain http to another machine, which anybody on the way can read ` +
        "and change; use https, or set insecure_http = true in [client]",
    );
  }
  return { kind: "http", url };
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function read(
  root: TomlTable,
  base: string,
  places: Places,
  env: Environment,
): ClientSettings {
  const sections = { client: section(root, "client"), daemon: section(root, "daemon") };
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined) continue;
    const [of = "", key = ""] = name.slice(PREFIX.length).toLowerCase().split("__", 2);
    const table = of === "client" || of === "daemon" ? sections[of] : null;
    if (table === null) continue;
    if (of === "client" && key === "token_file") {
      table["token"] = secretFrom(name, resolvePath(places, base, value));
    } else {
      // A token such as `123456` stays a text.
      table[key] = key === "token" ? value : (readTomlValue(value) ?? value);
    }
  }
  const { client, daemon } = sections;
  const insecure = client["insecure_http"] ?? false;
  if (typeof insecure !== "boolean") throw new SetUp("[client] insecure_http must be true or false");
  const servers = urls(client["url"]).map((url) => readServer(url, places, base, insecure));
  const [token, caFile] = [text(client, "client", "token"), text(client, "client", "ca_file")];
  return {
    servers: servers.length > 0 ? servers : [defaultServer(daemon, base, places)],
    token: token?.trim() || null,
    caFile: caFile ? resolvePath(places, base, caFile) : null,
    places,
  };
}

/** On the daemon's machine; its socket needs no token. */
function defaultServer(daemon: TomlTable, base: string, places: Places): Server {
  const [socket, state] = [text(daemon, "daemon", "socket"), text(daemon, "daemon", "state_dir")];
  if (socket) return { kind: "unix", path: resolvePath(places, base, socket) };
  const folder = places.runtime ?? (state ? resolvePath(places, base, state) : places.state);
  return { kind: "unix", path: join(folder, "countersign.sock") };
}

function urls(value: TomlValue | undefined): string[] {
  if (value === undefined) return [];
  const list: TomlValue[] = Array.isArray(value) ? value : [value];
  if (!list.every((url) => typeof url === "string")) {
    throw new SetUp("[client] url must be an address or a list of addresses");
  }
  if (list.length === 0) throw new SetUp("[client] url is empty; it names where daemons are");
  return list;
}

function section(root: TomlTable, name: string): TomlTable {
  const table = root[name] ?? {};
  if (typeof table !== "object" || Array.isArray(table) || table instanceof Date) {
    throw new SetUp(`\`${name}\` must be a section, written as [${name}]`);
  }
  return { ...table };
}

function text(table: TomlTable, section: string, key: string): string | null {
  const value = table[key] === undefined ? null : table[key];
  if (value !== null && typeof value !== "string") {
    throw new SetUp(`[${section}] ${key} must be a text in quotes`);
  }
  return value;
}

function secretFrom(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trimEnd();
  } catch (error) {
    throw new SetUp(`${name}: ${file} cannot be read: ${sentence(error)}`);
  }
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
