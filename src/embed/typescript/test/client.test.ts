import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  Client,
  freshKey,
  Lost,
  newQuestion,
  Refused,
  Rejected,
  SetUp,
  TooMuch,
  Unreachable,
  Unreadable,
} from "../src/index.ts";
import { answered, call, FakeDaemon, inOrder, OPEN, type Received, withDaemon } from "./fake.ts";

const APPROVED = answered("allow", "approve");
const WAIT = "GET /v1/asks/a1?wait=55";

test("a call is submitted and awaited by repeated holds", async () => {
  const replies = inOrder([202, OPEN], [200, OPEN], [200, OPEN], [200, APPROVED]);
  await withDaemon(replies, async (client, fake) => {
    const opened: string[] = [];
    const decision = await client.decide(call(), { onOpen: (ask) => opened.push(ask) });
    assert.deepEqual([decision.kind, opened], ["approved", ["a1"]]);
    assert.deepEqual(fake.targets, ["POST /v1/calls?wait=1", WAIT, WAIT, WAIT]);
    const { session_secret, ...sent } = JSON.parse(fake.received[0]?.body ?? "");
    assert.equal(session_secret.length, 43);
    assert.deepEqual(sent, call());
  });
});

test("a question reaches the daemon as a call that only asks", async () => {
  await withDaemon(inOrder([200, { verdict: "deny" }]), async (client, fake) => {
    const question = { question: "Which?", options: [{ label: "a" }], multiSelect: true };
    await client.decide(newQuestion({ agent: "a", session: "s", key: "k2" }, question));
    const sent = JSON.parse(fake.received[0]?.body ?? "");
    const about = [sent.tool, sent.key, sent.cwd, sent.questions];
    assert.deepEqual(about, ["ask_user", "k2", process.cwd(), [question]]);
  });
});

test("a lost connection submits the same key again", async () => {
  const cut = Buffer.from("HTTP/1.1 200 X\r\ncontent-length: 900\r\n\r\n{}");
  const begun = Buffer.from("HTTP/1.1 200 X\r\ncontent-le");
  const replies = inOrder(null, [202, OPEN], begun, [503, {}], [202, OPEN], cut, [200, APPROVED]);
  await withDaemon(replies, async (client, fake) => {
    assert.equal((await client.decide(call())).kind, "approved");
    const posts = fake.received.filter(({ target }) => target.startsWith("POST"));
    assert.deepEqual(posts.map(({ body }) => JSON.parse(body).key), Array(5).fill("k1"));
  });
});

test("a daemon that is away for too long is lost", async () => {
  const handler = (): [number, unknown] => [202, OPEN];
  const outage = { outage: 300 };
  await withDaemon(handler, async (client, fake) => {
    const onOpen = (): void => rmSync(join(fake.folder, "d.sock"));
    await assert.rejects(client.decide(call(), { onOpen }), Lost);
  }, outage);
});

test("without a daemon the error says what to do", async () => {
  const fake = new FakeDaemon(() => null);
  const client = new Client({ ...(await fake.listen("socket")), servers: [
    { kind: "unix", path: join(fake.folder, "nobody.sock") },
  ] });
  const told = (error: unknown): boolean =>
    error instanceof Unreachable && /no countersign daemon at unix:.*serve`/.test(error.message);
  await assert.rejects(client.decide(call()), told);
  fake.close();
});

test("an aborted signal cancels the ask", async () => {
  const aborting = new AbortController();
  const reply = async (received: Received): Promise<[number, unknown] | null> => {
    if (received.target !== WAIT) return [202, OPEN];
    aborting.abort(new Error("enough"));
    await received.gone;
    return null;
  };
  await withDaemon(reply, async (client, fake) => {
    await assert.rejects(client.decide(call(), { signal: aborting.signal }), /^Error: enough$/);
    assert.equal(fake.targets.at(-1), "POST /v1/asks/a1/cancel");
    assert.equal(fake.received.at(-1)?.body, '{"reason":"aborted"}');
  });
});

test("a signal that is aborted while it submits closes the connection", async () => {
  const aborting = new AbortController();
  const seen: Received[] = [];
  const reply = async (received: Received): Promise<null> => {
    seen.push(received);
    aborting.abort();
    await received.gone;
    return null;
  };
  await withDaemon(reply, async (client) => {
    const { signal } = aborting;
    await assert.rejects(client.decide(call(), { signal }), { name: "AbortError" });
    await seen[0]?.gone;
    const aborted = client.decide(call(), { signal: aborting.signal });
    await assert.rejects(aborted, { name: "AbortError" });
    assert.equal(seen.length, 1);
  });
});

test("submit and wait leave the ask open", async () => {
  const reply = async (received: Received): Promise<[number, unknown]> => {
    if (received.target === WAIT) await received.gone;
    return [202, OPEN];
  };
  await withDaemon(reply, async (client, fake) => {
    assert.deepEqual(await client.submit(call()), { kind: "open", ask: "a1" });
    assert.deepEqual(await client.wait(call(), { atMost: 500 }), { kind: "open", ask: "a1" });
    assert.deepEqual(fake.targets, ["POST /v1/calls", "POST /v1/calls", WAIT]);
  });
});

test("a full daemon is asked again later", async () => {
  const full = [429, { error: "too many" }] as [number, unknown];
  const replies = inOrder(full, [200, { verdict: "allow" }]);
  await withDaemon(replies, async (client) => {
    assert.equal((await client.decide(call())).kind, "approved");
  }, { pause: 10 });
  await withDaemon(() => full, async (client) => {
    await assert.rejects(client.decide(call()), new TooMuch("too many"));
  }, { outage: 0 });
});

test("no garbage is an approval", async () => {
  for (const body of ["", "not json", "null", "[]", '"allow"', "{}", '{"verdict":true}', "\xff",
    '{"verdict":"allow","state":"open"}', "<html>allow</html>", '{"verdict":"allowed"}',
    '{"__proto__":{"verdict":"allow"}}', "[".repeat(200_000), '{"verdict":["allow"]}']) {
    await withDaemon(inOrder([200, Buffer.from(body, "latin1")]), async (client) => {
      await assert.rejects(client.decide(call()), Unreadable, body.slice(0, 40));
    });
  }
});

test("a bad status is an error, whatever its body says", async () => {
  for (const [status, kind, text] of [
    [401, Refused, /^E\.$/], [403, Refused, /^E\.$/], [409, Rejected, /^E\.$/],
    [301, Rejected, /^E\.$/], [500, Rejected, /^E\.$/], [503, Lost, /no answer from .*: E\.$/],
  ] as const) {
    await withDaemon(() => [status, { verdict: "allow", error: "E." }], async (client) => {
      const right = (error: unknown): boolean => error instanceof kind && text.test(error.message);
      await assert.rejects(client.decide(call()), right, String(status));
    }, { outage: 0 });
  }
});

test("an unreadable answer cancels the ask", async () => {
  const replies = inOrder([202, OPEN], [200, { state: "answered", id: "a1" }], [200, {}]);
  await withDaemon(replies, async (client, fake) => {
    await assert.rejects(client.decide(call()), Unreadable);
    assert.equal(fake.targets.at(-1), "POST /v1/asks/a1/cancel");
  });
});

test("a call that is no JSON is never sent", async () => {
  await withDaemon(() => [200, { verdict: "allow" }], async (client, fake) => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    for (const args of [{ x: NaN }, { x: 1n }, { x: () => 0 }, loop]) {
      await assert.rejects(client.decide(call({ args })), SetUp);
    }
    assert.deepEqual(fake.targets, []);
  });
});

test("ids and names are one segment of a path", async () => {
  await withDaemon(() => [200, {}], async (client, fake) => {
    await client.cancel("../a b?c\r\nX: y");
    await client.endSession("a", "s/1");
    const path = "POST /v1/asks/..%2Fa%20b%3Fc%0D%0AX%3A%20y/cancel";
    assert.deepEqual(fake.targets, [path, "POST /v1/sessions/s%2F1/end"]);
  });
});

test("keys are fresh", () => {
  assert.equal(new Set(Array.from({ length: 100 }, freshKey)).size, 100);
});
