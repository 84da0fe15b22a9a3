// Whether everything that `countersign acp` says is what the schema of the Agent Client Protocol takes.
// What it says is held by Rust: the recorded answers by tests/cli/acp.rs, the rest by src/agents/acp/tests.rs.

import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const golden = `${process.env.COUNTERSIGN_REPOSITORY}/tests/golden/acp`;
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const schema = read(createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json"));
// Its own annotations and the formats of Rust's numbers decide nothing.
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");

/** What is wrong with a value as this type, `null` for nothing. */
function wrong(type, value) {
  const validate = ajv.compile({ $ref: `acp#/$defs/${type}` });
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

/** The type of the parameters of a method, and that of its result. */
function typeOf(method, end) {
  const named = Object.entries(schema.$defs).filter(([, it]) => it["x-method"] === method);
  const found = named.map(([name]) => name).filter((name) => name.endsWith(end));
  assert.equal(found.length, 1, `${method} has one ${end}: ${found}`);
  return found[0];
}

/** What is wrong with a message, as a request, a notification or the reply to this one. */
function wrongMessage(message, request) {
  assert.equal(message.jsonrpc, "2.0");
  if (message.error) return wrong("Error", message.error);
  if (!message.method) return wrong(typeOf(request.method, "Response"), message.result);
  const end = "id" in message ? "Request" : "Notification";
  return wrong(typeOf(message.method, end), message.params);
}

/** Judges a request of the agent, where there is one, and what was said to it. */
function judge(request, said) {
  if (request) assert.equal(wrongMessage(request), null, JSON.stringify(request));
  for (const message of said) {
    assert.equal(wrongMessage(message, request), null, JSON.stringify(message));
    if (message.result?.action === "accept") {
      const form = ajv.compile(request.params.requestedSchema);
      assert.ok(form(message.result.content), ajv.errorsText(form.errors));
    }
  }
}

const files = readdirSync(golden).filter((name) => /^\d\d_.*\.json$/.test(name));

for (const name of files) {
  const [request, reply] = read(`${golden}/${name}`).frames.map((frame) => frame.data);
  test(`${name} is a request and a reply of the protocol`, () => judge(request, [reply]));
}

test("every kind of message that the proxy makes is one of the protocol", () => {
  for (const { request, said } of read(`${golden}/said.json`)) judge(request, said);
});

test("an outcome, a form and a method that the protocol does not have are found", () => {
  const [asked, form] = ["01_allow_once", "05_elicitation_form"].map((name) => read(`${golden}/${name}.json`).frames[0].data);
  const reply = (result) => [{ jsonrpc: "2.0", id: 0, result }];
  for (const outcome of [{ outcome: "approved" }, { outcome: "selected" }]) {
    assert.throws(() => judge(asked, reply({ outcome })));
  }
  assert.throws(() => judge(form, reply({ action: "accept", content: { question_0: "Oracle" } })));
  assert.throws(() => judge(null, [{ jsonrpc: "2.0", method: "session/stop", params: {} }]));
});
