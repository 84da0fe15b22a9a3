import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { type ClientSettings, loadSettings, SetUp, settingsFor } from "../src/index.ts";
import { placesOfThisUser } from "../src/places.ts";
import { derivedSecret, sessionSecret } from "../src/session.ts";
import { serverText } from "../src/settings.ts";
import { readToml } from "../src/toml.ts";

let home = "";
let folder = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "countersign-"));
  folder = join(home, ".config/countersign");
  mkdirSync(folder, { recursive: true });
});

afterEach(() => rmSync(home, { recursive: true }));

function load(text: string | null, env: Record<string, string> = {}): ClientSettings {
  if (text !== null) writeFileSync(join(folder, "countersign.toml"), text);
  return loadSettings(undefined, { HOME: home, ...env });
}

function servers(text: string | null, env: Record<string, string> = {}): string[] {
  return load(text, env).servers.map(serverText);
}

test("without a config the socket is the daemon's", () => {
  const state = `unix:${home}/.local/state/countersign/countersign.sock`;
  assert.deepEqual(servers(null), [state]);
  assert.deepEqual(servers(null, { XDG_RUNTIME_DIR: "run" }), [state]);
  const runtime = servers(null, { XDG_RUNTIME_DIR: "/run/user/5" });
  assert.deepEqual(runtime, ["unix:/run/user/5/countersign/countersign.sock"]);
  const moved = servers(null, { XDG_STATE_HOME: "/s" });
  assert.deepEqual(moved, ["unix:/s/countersign/countersign.sock"]);
});

test("the daemon's section moves the socket", () => {
  assert.deepEqual(servers('[daemon]\nsocket = "s"'), [`unix:${folder}/s`]);
  assert.deepEqual(servers("[daemon]\nstate_dir = '~/st'"), [`unix:${home}/st/countersign.sock`]);
  assert.deepEqual(servers(null, { COUNTERSIGN__DAEMON__SOCKET: "/x" }), ["unix:/x"]);
});

test("the client's section names daemons and a token", () => {
  const urls = 'url = ["unix:s", # here\n "unix://~/t", "https://h:1/p/",\n]';
  const text = `[client]\n${urls}\ntoken = " t "\nca_file = "ca"`;
  assert.deepEqual(servers(text), [`unix:${folder}/s`, `unix:${home}/t`, "https://h:1/p"]);
  const { token, caFile } = load(text);
  assert.deepEqual([token, caFile], ["t", join(folder, "ca")]);
});

test("the environment overrides the file", () => {
  const file = join(home, "token");
  writeFileSync(file, "from a file\n");
  const text = '[client]\nurl = "unix:/a"\ntoken = "t"';
  assert.deepEqual(servers(text, { COUNTERSIGN__CLIENT__URL: "unix:/b" }), ["unix:/b"]);
  const both = servers(text, { COUNTERSIGN__CLIENT__URL: '["unix:/b", "unix:/c"]' });
  assert.deepEqual(both, ["unix:/b", "unix:/c"]);
  assert.equal(load(text, { COUNTERSIGN__CLIENT__TOKEN: "123" }).token, "123");
  assert.equal(load(text, { COUNTERSIGN__CLIENT__TOKEN_FILE: file }).token, "from a file");
  const named = join(home, "other.toml");
  writeFileSync(named, '[client]\nurl = "unix:o"');
  assert.deepEqual(servers(text, { COUNTERSIGN_CONFIG: named }), [`unix:${home}/o`]);
});

test("mistakes are sentences", () => {
  const mistakes: [string, Record<string, string>, RegExp][] = [
    ['[client]\nurl = "http://h.example"', {}, /plain http to another machine/],
    ['[client]\nurl = "ftp://h"', {}, /must be `unix:PATH` or/],
    ['[client]\nurl = "https://u:p@h"', {}, /must be `unix:PATH` or/],
    ['[client]\nurl = "http://[::1"', {}, /must be `unix:PATH` or/],
    ["[client]\nurl = []", {}, /is empty/],
    ["[client]\nurl = 5", {}, /an address or a list/],
    ["[client]\ntoken = 5", {}, /must be a text/],
    ['[client]\ninsecure_http = "yes"', {}, /must be true or false/],
    ["client = 5", {}, /must be a section/],
    ["client = 2026-11-23", {}, /must be a section/],
    ["[[client]]", {}, /must be a section/],
    ["[client", {}, /cannot be read: line 1: .*cannot find end of key$/],
    ['[client]\nurl = "unix:/a"\nurl = "unix:/b"', {}, /line 3: .*already defined/],
    ["[client]\nurl = unix", {}, /line 2: invalid value$/],
    ['[client]\nurl = "unix:/a', {}, /line 2: unfinished string$/],
    ['[client]\nurl = "a" "b"', {}, /line 2: .*must be followed by an end-of-line$/],
    ["", { COUNTERSIGN_CONFIG: "/nowhere.toml" }, /does not exist/],
    ["", { COUNTERSIGN__CLIENT__TOKEN_FILE: "/nowhere" }, /cannot be read/],
  ];
  for (const [text, env, sentence] of mistakes) {
    const right = (error: unknown): boolean =>
      error instanceof SetUp && sentence.test(error.message);
    assert.throws(() => load(text, env), right, text);
  }
});

test("plain http is for loopback, unless the config says so", () => {
  for (const url of ["http://127.0.0.1:7117", "http://localhost", "http://[::1]:7"]) {
    assert.deepEqual(servers(`[client]\nurl = "${url}"`), [url]);
  }
  const far = '[client]\nurl = "http://far.example"\ninsecure_http = true';
  assert.deepEqual(servers(far), ["http://far.example"]);
  assert.throws(() => settingsFor("http://127.0.0.1.example"), SetUp);
});

test("what others wrote into the config is read past", () => {
  const text = [
    'a.b = {x = 1, "y z" = [1.5, 2026-11-23T04:00:00Z, true]} # c',
    "s = '''it's\n[client]\nurl = \"unix:/wrong\"'''",
    't = """\\\n   a\\tb\\u00e9 ""quoted"""""',
    '[client]\r\nurl = "unix:/right"\r\n',
    '[[people]]\nname = "Ana"\nurl = "unix:/wrong"\n[telegram.x]\n"client" = \'t\'',
  ].join("\n");
  assert.deepEqual(servers(text), ["unix:/right"]);
  const read = readToml(text);
  assert.equal(read["t"], 'a\tb\u00e9 ""quoted""');
  const inline = '{"b":{"x":1,"y z":[1.5,"2026-11-23T04:00:00.000Z",true]}}';
  assert.equal(JSON.stringify(read["a"]), inline);
  assert.equal(readToml("n = 9223372036854775807")["n"], 9223372036854775807n);
  assert.equal(readToml("__proto__ = 1")["x"], undefined);
});

test("a file that is no TOML is refused, and its error shows nothing of it", () => {
  const token = '[client]\ntoken = "hush"\n';
  const invalid = [
    `${token}[client]`,
    `${token}[[client]]`,
    `${token}x = 01`,
    `${token}x = 1__0`,
    `${token}x = "\u0001"`,
    `${token}x = "\\ud800"`,
  ];
  for (const text of invalid) {
    const right = (error: unknown): boolean =>
      error instanceof SetUp && /line 3: /.test(error.message) && !/hush/.test(error.message);
    assert.throws(() => load(text), right, text);
  }
});

test("a key is made once, for its owner alone", () => {
  const places = placesOfThisUser({ HOME: home });
  const made = sessionSecret("a", "s", places);
  assert.equal(made?.length, 43);
  assert.equal(sessionSecret("a", "s", places), made);
  const file = join(places.state, "client.key");
  const modes = [file, places.state].map((path) => statSync(path).mode & 0o777);
  assert.deepEqual([modes, readdirSync(places.state)], [[0o600, 0o700], ["client.key"]]);
  writeFileSync(file, "cut");
  assert.equal(sessionSecret("a", "s", places), null);
  assert.equal(readFileSync(file, "utf8"), "cut");
});

test("every session of every agent has a secret of its own", () => {
  const pairs = [["a", "bc"], ["ab", "c"], ["", "abc"], ["a", "bd"]] as const;
  const secrets = pairs.map(([agent, session]) => derivedSecret("a-key", agent, session));
  assert.equal(new Set(secrets).size, 4);
  assert.notEqual(derivedSecret("another", "a", "bc"), secrets[0]);
});
