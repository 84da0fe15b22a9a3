import asyncio
import json
import os
import tempfile
import unittest
from pathlib import Path

from countersign import (
    Accepts,
    Approved,
    Call,
    Choice,
    Denied,
    Lost,
    Question,
    Refused,
    Rejected,
    SetUp,
    StillOpen,
    TooMuch,
    Unreachable,
    Unreadable,
    fresh_key,
)
from countersign import client as client_module

from .fake import OPEN, Reply, Request, answered, call, daemon, settings

APPROVED = answered("allow", "approve")


class WithFolder(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Deciding(WithFolder):
    async def test_a_call_is_submitted_and_awaited_by_repeated_holds(self) -> None:
        replies: list[Reply] = [(202, OPEN), (200, OPEN), (200, OPEN), (200, APPROVED)]
        async with daemon(self.folder, lambda _: replies.pop(0)) as (fake, client):
            opened: list[str] = []
            self.assertIsInstance(await client.decide(call(), opened.append), Approved)
            self.assertEqual(opened, ["a1"])
            wait = "GET /v1/asks/a1?wait=55"
            self.assertEqual(fake.targets, ["POST /v1/calls?wait=1", wait, wait, wait])
            sent = fake.requests[0].json
            self.assertEqual(len(sent.pop("session_secret")), 43)
            expected = {"key": "k1", "agent": "a", "session": "s", "tool": "shell_exec"}
            self.assertEqual(sent, {**expected, "args": {"command": "make"}})

    async def test_everything_of_a_call_reaches_the_daemon(self) -> None:
        question = Question("Which?", [Choice("a", "first"), Choice("b")], "Region", True)
        asking = Call.asking("a", "s", question, key="k2")
        async with daemon(self.folder, lambda _: (200, {"verdict": "deny"})) as (fake, client):
            await client.decide(asking)
            await client.decide(
                call(accepts=[Accepts.STOP], expires_in_s=9, meta={"x": 1}, profile={"tier": "t"})
            )
            options = [{"label": "a", "description": "first"}, {"label": "b"}]
            sent = {"question": "Which?", "options": options, "header": "Region"}
            first, second = (request.json for request in fake.requests)
            self.assertEqual(first["questions"], [{**sent, "multiSelect": True}])
            self.assertEqual((first["tool"], first["cwd"]), ("ask_user", os.getcwd()))
            some = {name: second[name] for name in ("accepts", "expires_in_s", "meta", "tier")}
            self.assertEqual(
                some, {"accepts": ["stop"], "expires_in_s": 9, "meta": {"x": 1}, "tier": "t"}
            )

    async def test_a_lost_connection_submits_the_same_key_again(self) -> None:
        replies: list[Reply] = [None, (202, OPEN), b"HTTP/1.1 200 X\r\ncontent-le", (503, {}),
                                (202, OPEN), b"HTTP/1.1 200 X\r\ncontent-length: 900\r\n\r\n{}",
                                (200, APPROVED)]  # fmt: skip
        async with daemon(self.folder, lambda _: replies.pop(0)) as (fake, client):
            self.assertIsInstance(await client.decide(call()), Approved)
            submitted = [r.json["key"] for r in fake.requests if r.method == "POST"]
            self.assertEqual(submitted, ["k1"] * 5)

    async def test_a_daemon_that_is_away_for_too_long_is_lost(self) -> None:
        def reply(request: Request) -> Reply:
            if request.method == "POST":
                (self.folder / "d.sock").unlink()
            return (202, OPEN)

        async with daemon(self.folder, reply, outage=0.3) as (_, client):
            with self.assertRaisesRegex(Lost, "no answer from the daemon at unix:.*: "):
                await client.decide(call())

    async def test_without_a_daemon_the_error_says_what_to_do(self) -> None:
        client = client_module.Client(settings(self.folder))
        with self.assertRaisesRegex(Unreachable, "no countersign daemon at unix:.*serve`"):
            await client.decide(call())

    async def test_a_cancelled_task_cancels_its_ask(self) -> None:
        waiting = asyncio.Event()

        async def reply(request: Request) -> Reply:
            if request.method == "GET":
                waiting.set()
                await request.gone.wait()
                return None
            return (202, OPEN)

        async with daemon(self.folder, reply) as (fake, client):
            task = asyncio.ensure_future(client.decide(call()))
            await waiting.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(fake.targets[-1], "POST /v1/asks/a1/cancel")
            self.assertEqual(fake.requests[-1].json, {"reason": "aborted"})

    async def test_a_cancellation_at_any_moment_is_never_lost(self) -> None:
        async def reply(request: Request) -> Reply:
            if request.method == "GET":
                await request.gone.wait()
            return (202, OPEN)

        async with daemon(self.folder, reply) as (_, client):
            for turns in range(60):
                task = asyncio.ensure_future(client.decide(call()))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with self.subTest(turns=turns), self.assertRaises(asyncio.CancelledError):
                    await asyncio.wait_for(task, 5)

    async def test_a_task_that_is_cancelled_while_it_submits_closes_its_connection(self) -> None:
        seen: asyncio.Queue[Request] = asyncio.Queue()

        async def reply(request: Request) -> Reply:
            seen.put_nowait(request)
            await request.gone.wait()
            return None

        async with daemon(self.folder, reply) as (_, client):
            task = asyncio.ensure_future(client.decide(call()))
            request = await seen.get()
            task.cancel()
            await asyncio.wait_for(request.gone.wait(), 5)
            with self.assertRaises(asyncio.CancelledError):
                await task

    async def test_submit_and_wait_leave_the_ask_open(self) -> None:
        async def reply(request: Request) -> Reply:
            if request.method == "GET":
                await request.gone.wait()
            return (202, OPEN)

        async with daemon(self.folder, reply) as (fake, client):
            self.assertEqual(await client.submit(call()), StillOpen("a1"))
            self.assertEqual(await client.wait(call(), at_most=0.5), StillOpen("a1"))
            submit = "POST /v1/calls"
            self.assertEqual(fake.targets, [submit, submit, "GET /v1/asks/a1?wait=55"])

    async def test_a_full_daemon_is_asked_again_later(self) -> None:
        self.addCleanup(setattr, client_module, "_FULL", client_module._FULL)
        client_module._FULL = 0.01
        replies: list[Reply] = [(429, {"error": "too many"}), (200, {"verdict": "allow"})]
        async with daemon(self.folder, lambda _: replies.pop(0)) as (_, client):
            self.assertIsInstance(await client.decide(call()), Approved)
        async with daemon(self.folder, lambda _: (429, {"error": "too many"}), 0) as (_, client):
            with self.assertRaisesRegex(TooMuch, "^too many$"):
                await client.decide(call())


class FailingClosed(WithFolder):
    async def test_no_garbage_is_an_approval(self) -> None:
        deep = b"[" * 200_000
        garbage = [b"", b"not json", b"null", b"[]", b'"allow"', b"{}", b'{"verdict":true}',
                   b'{"verdict":"allow","state":"open"}', b"<html>allow</html>", b"\xff", deep,
                   b'{"verdict":"allowed"}', b'{"verdict":["allow"]}']  # fmt: skip
        for body in garbage:
            async with daemon(self.folder, lambda _, body=body: (200, body)) as (_, client):
                with self.subTest(body=body[:40]), self.assertRaises(Unreadable):
                    await client.decide(call())

    async def test_a_bad_status_is_an_error_whatever_its_body_says(self) -> None:
        allow = {"verdict": "allow", "error": "E."}
        for status, error, text in [
            (401, Refused, "^E.$"), (403, Refused, "^E.$"), (409, Rejected, "^E.$"),
            (422, Rejected, "^E.$"), (301, Rejected, "^E.$"), (500, Rejected, "^E.$"),
            (503, Lost, "no answer from .*: E.$"),
        ]:  # fmt: skip
            async with daemon(self.folder, lambda _, s=status: (s, allow), 0) as (_, client):
                with self.subTest(status=status), self.assertRaisesRegex(error, text):
                    await client.decide(call())

    async def test_an_unreadable_answer_cancels_the_ask(self) -> None:
        replies: list[Reply] = [(202, OPEN), (200, {"state": "answered", "id": "a1"}), (200, {})]
        async with daemon(self.folder, lambda _: replies.pop(0)) as (fake, client):
            with self.assertRaisesRegex(Unreadable, "an answered ask without answer"):
                await client.decide(call())
            self.assertEqual(fake.targets[-1], "POST /v1/asks/a1/cancel")

    async def test_a_call_that_is_no_json_is_never_sent(self) -> None:
        async with daemon(self.folder, lambda _: (200, {"verdict": "allow"})) as (fake, client):
            for args in ({"x": float("nan")}, {"x": object()}, {"x": "\ud800"}):
                with self.assertRaisesRegex(SetUp, "cannot be sent as JSON"):
                    await client.decide(call(args=args))
            self.assertEqual(fake.requests, [])

    async def test_ids_and_names_are_one_segment_of_a_path(self) -> None:
        async with daemon(self.folder, lambda _: (200, {})) as (fake, client):
            await client.cancel("../a b?c\r\nX: y")
            await client.end_session("a", "s/1")
            self.assertEqual(
                fake.targets,
                [
                    "POST /v1/asks/..%2Fa%20b%3Fc%0D%0AX%3A%20y/cancel",
                    "POST /v1/sessions/s%2F1/end",
                ],
            )

    async def test_chunked_replies_are_read(self) -> None:
        body = json.dumps({"verdict": "deny", "reason": "no"}).encode()
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        chunked = head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        async with daemon(self.folder, lambda _: chunked) as (_, client):
            self.assertIsInstance(await client.decide(call()), Denied)

    def test_keys_are_fresh(self) -> None:
        self.assertEqual(len({fresh_key() for _ in range(100)}), 100)
