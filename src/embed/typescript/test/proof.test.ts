import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, Refused, Unreadable } from "../src/index.ts";
import { maskedToken, replyProof } from "../src/proof.ts";
import { call, FakeDaemon, type Handler, type Received, type Reply } from "./fake.ts";

const TOKEN = "the-token-of-the-tests, longer than one block of thirty-two bytes";
const NONCE = "abcdefghijklmnop.1.x-_";
const ALLOW = Buffer.from('{"verdict": "allow"}');

async function served(
  handler: Handler,
  work: (client: Client, fake: FakeDaemon) => Promise<void>,
  token: string | null = TOKEN,
): Promise<void> {
  const fake = new FakeDaemon(handler);
  try {
    await work(new Client({ ...(await fake.listen("port")), token }, { outage: 0 }), fake);
  } finally {
    fake.close();
  }
}

/** Gives a nonce, and then this reply. */
function afterNonce(reply: (received: Received) => Reply): Handler {
  return (received) =>
    received.target.endsWith("nonce") ? [200, { nonce: NONCE }] : reply(received);
}

function proven(
  received: Received,
  body: Buffer,
  status = 200,
): [number, Buffer, Record<string, string>] {
  const [method = "", target = ""] = received.target.split(" ");
  const about = { nonce: NONCE, method, target, body: Buffer.from(received.body) };
  const shown = `Countersign ${NONCE}:${maskedToken(about, TOKEN)}`;
  assert.equal(received.headers.authorization, shown);
  return [status, body, { "x-countersign-proof": replyProof(about, TOKEN, status, body) }];
}

test("the token is proved and never sent", async () => {
  await served(afterNonce((received) => proven(received, ALLOW)), async (client, fake) => {
    assert.equal((await client.decide(call())).kind, "approved");
    assert.deepEqual(fake.targets, ["GET /base/v1/nonce", "POST /base/v1/calls?wait=1"]);
    assert.ok(!JSON.stringify(fake.received).includes(TOKEN.slice(0, 12)));
  });
});

test("a reply without the right proof is of a stranger", async () => {
  const stranger = (error: unknown): boolean =>
    error instanceof Unreadable && /another program in the daemon's place/.test(error.message);
  for (const reply of [
    (): Reply => [200, ALLOW],
    (): Reply => [200, ALLOW, { "x-countersign-proof": "wrong" }],
    (received: Received): Reply => [200, ALLOW, proven(received, Buffer.from("{}"))[2]],
    (received: Received): Reply => [200, ALLOW, proven(received, ALLOW, 202)[2]],
    (): Reply => [404, { error: "no" }],
  ]) {
    await served(afterNonce(reply), async (client) => {
      await assert.rejects(client.decide(call()), stranger);
    });
  }
});

test("a refusal needs no proof", async () => {
  await served(afterNonce(() => [401, { error: "wrong token" }]), async (client) => {
    await assert.rejects(client.decide(call()), new Refused("wrong token"));
  });
});

test("an odd nonce is never used", async () => {
  for (const nonce of ["", "short", "a".repeat(201), "abcdefghijklmnop\nX: y", 5, null]) {
    await served(() => [200, { nonce }], async (client, fake) => {
      await assert.rejects(client.decide(call()), /it gives no nonce/);
      assert.equal(fake.received.length, 1);
    });
  }
});

test("http without a token says what to set", async () => {
  const work = async (client: Client, fake: FakeDaemon): Promise<void> => {
    await assert.rejects(client.decide(call()), /wants a token; set \[client\] token/);
    assert.deepEqual(fake.received, []);
  };
  await served(() => [200, ALLOW], work, null);
});

test("the mask is that of the daemon", () => {
  // The same values as in the Python client's test; the live tests hold both to the daemon.
  const about = { nonce: "n", method: "POST", target: "/v1/calls?wait=1", body: Buffer.from("{}") };
  assert.equal(maskedToken(about, "the-token"), "HGfaMwaV0JA3");
  const proof = replyProof(about, "the-token", 200, Buffer.from("{}"));
  assert.equal(proof, "d39r-Z1wwTqsrQ1XESVnAcqMQYQX6OPaW30IkhC_0qQ");
});
