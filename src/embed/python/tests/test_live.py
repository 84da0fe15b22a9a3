"""The client against the real daemon."""

import asyncio
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from countersign import (
    Accepts,
    Answered,
    Approved,
    ByAnswer,
    ByRule,
    Call,
    Choice,
    Client,
    Denied,
    Edited,
    Expired,
    Question,
    Refused,
    Rejected,
    StillOpen,
)

from .daemon import PROGRAM, Daemon

BOTH = [Accepts.UPDATED_INPUT, Accepts.STOP]


def make(command: str = "make deploy", **more) -> Call:
    return Call(agent="tester", session="one", tool="shell_exec", args={"command": command}, **more)


class LiveCase(unittest.IsolatedAsyncioTestCase):
    """A test with a daemon of its own."""

    def setUp(self) -> None:
        if PROGRAM is None:
            self.skipTest("set COUNTERSIGN_BIN to the program `countersign`")
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.client = self.daemon.client()

    async def both(self, work, person):
        """What comes of `work` while a person answers."""
        done, _ = await asyncio.gather(work, person)
        return done


class Outcomes(LiveCase):
    async def test_rules_decide_at_once(self) -> None:
        allowed = await self.client.decide(make("true"))
        self.assertIsInstance(allowed, Approved)
        self.assertIsInstance(allowed.ending, ByRule)
        denied = await self.client.decide(make("shutdown now"))
        assert isinstance(denied, Denied)
        self.assertIn("shutdown *", denied.text_for_model)

    async def test_a_person_approves_with_a_note(self) -> None:
        for client in (self.client, self.daemon.http_client()):
            answer = self.daemon.answer("approve", reason="go on")
            decision = await self.both(client.decide(make()), answer)
            self.assertIsInstance(decision, Approved)
            self.assertEqual((decision.note, decision.ending.by.kind), ("go on", "person"))

    async def test_a_person_denies_with_a_reason_and_stops(self) -> None:
        answer = self.daemon.answer("deny", reason="use the staging host", stop=True)
        decision = await self.both(self.client.decide(make(accepts=BOTH)), answer)
        assert isinstance(decision, Denied)
        self.assertEqual((decision.note, decision.stop), ("use the staging host", True))
        self.assertIn("use the staging host", decision.text_for_model)

    async def test_a_person_edits_the_arguments(self) -> None:
        call = make(accepts=BOTH)
        answer = self.daemon.answer("edit", edit="make deploy HOST=staging")
        decision = await self.both(self.client.decide(call), answer)
        assert isinstance(decision, Edited)
        self.assertEqual(decision.args, {"command": "make deploy HOST=staging"})

    async def test_a_person_answers_questions(self) -> None:
        question = Question("Which region?", [Choice("eu"), Choice("us")])
        asking = self.client.question("tester", "one", question)
        decision = await self.both(
            asking, self.daemon.answer("answer", answers={"Which region?": "eu"})
        )
        assert isinstance(decision, Answered)
        self.assertEqual(decision.text("Which region?"), "eu")

    async def test_nobody_answers_in_time(self) -> None:
        decision = await self.client.decide(make(expires_in_s=1))
        assert isinstance(decision, Denied)
        self.assertIsInstance(decision.ending, Expired)

    async def test_a_grant_for_the_session_covers_the_next_call_of_every_program(self) -> None:
        answer = self.daemon.answer("approve", scope="session")
        decision = await self.both(self.client.decide(make("make build")), answer)
        assert isinstance(decision.ending, ByAnswer)
        self.assertEqual(decision.ending.scope, "session")
        again = await self.client.decide(make("make build"))
        self.assertIsInstance(again, Approved)
        self.assertIsInstance(again.ending, ByRule)
        # The program `countersign` on this machine is in the same session, and ends it.
        command = ["--config", str(self.daemon.config), "ask", "--agent", "tester"]
        command += ["--session", "one", "--", "make", "build"]
        env = self.daemon.env()
        ran = await asyncio.to_thread(subprocess.run, [PROGRAM, *command], env=env)
        self.assertEqual(ran.returncode, 0)
        await self.client.end_session("tester", "one")
        opened = await self.client.submit(make("make build"))
        self.assertIsInstance(opened, StillOpen)

    async def test_a_grant_for_always_is_listed(self) -> None:
        answer = self.daemon.answer("approve", scope="always")
        await self.both(self.client.decide(make("make build")), answer)
        grants = [(grant["scope"], grant["pattern"]) for grant in await self.client.grants()]
        self.assertEqual(grants, [("always", "make build")])

    async def test_the_daemons_refusals_are_sentences(self) -> None:
        with self.assertRaisesRegex(Refused, "token"):
            await self.daemon.http_client("wrong-token-of-the-tests").decide(make())
        with self.assertRaisesRegex(Rejected, "`agent` is empty"):
            await self.client.decide(Call(agent="", session="s", tool="t"))
        await self.client.submit(make(key="k"))
        with self.assertRaisesRegex(Rejected, "key"):
            await self.client.submit(make("make other", key="k"))
        ready = await self.client.ready()
        self.assertEqual(ready["store"], "up")


class Lives(LiveCase):
    async def test_a_killed_daemon_that_comes_back_gives_the_same_asks_answer(self) -> None:
        for client in (self.client, self.daemon.http_client()):
            task = asyncio.ensure_future(client.decide(make()))
            before = await self.daemon.opened()
            self.daemon.kill()
            await asyncio.sleep(0.3)
            self.daemon.start()
            after = await self.daemon.answer("approve")
            self.assertEqual(after["id"], before["id"])
            decision = await asyncio.wait_for(task, 20)
            self.assertEqual(decision.ending.ask, before["id"])

    async def test_a_cancelled_task_cancels_the_ask(self) -> None:
        opened: asyncio.Queue[str] = asyncio.Queue()
        task = asyncio.ensure_future(self.client.decide(make(), opened.put_nowait))
        ask = await opened.get()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        asks = (await self.daemon.request("GET", "/v1/asks?state=cancelled"))["asks"]
        self.assertEqual([cancelled["id"] for cancelled in asks], [ask])
        # What was cancelled is asked anew.
        again = await self.client.submit(make(key=asks[0]["call"]["key"]))
        assert isinstance(again, StillOpen)
        self.assertNotEqual(again.ask, ask)

    async def test_a_killed_caller_cancels_its_ask(self) -> None:
        caller = self.caller("decide")
        ask = await self.daemon.opened()
        caller.send_signal(signal.SIGKILL)
        caller.wait()
        self.assertEqual(await self.daemon.closed(ask["id"]), "cancelled")

    async def test_an_interrupted_caller_cancels_its_ask(self) -> None:
        caller = self.caller("decide")
        ask = await self.daemon.opened()
        caller.send_signal(signal.SIGINT)
        caller.wait()
        self.assertEqual(await self.daemon.closed(ask["id"]), "cancelled")

    async def test_a_caller_that_waits_with_its_key_goes_on_after_its_own_death(self) -> None:
        first = self.caller("wait")
        ask = await self.daemon.opened()
        first.send_signal(signal.SIGKILL)
        first.wait()
        # Longer than a waiting caller may be away.
        await asyncio.sleep(4)
        self.assertEqual(await self.daemon.state(ask["id"]), "open")
        await self.daemon.answer("approve")
        second = self.caller("wait")
        said, _ = await asyncio.to_thread(second.communicate)
        self.assertEqual(said, f"Approved {ask['id']}\n")

    async def test_a_wait_that_is_over_leaves_the_ask_open(self) -> None:
        call = make()
        opened = await self.client.wait(call, at_most=0.3)
        assert isinstance(opened, StillOpen)
        self.assertEqual([ask["id"] for ask in await self.client.open_asks()], [opened.ask])
        await self.daemon.answer("approve")
        self.assertIsInstance(await self.client.wait(call), Approved)

    def caller(self, method: str) -> subprocess.Popen[str]:
        program = (
            "import asyncio, countersign as c\n"
            "call = c.Call(agent='tester', session='one', tool='shell_exec', key='kept',\n"
            "              args={'command': 'make deploy'}, cwd='/srv', host='h')\n"
            f"d = asyncio.run(c.Client().{method}(call))\n"
            "print(type(d).__name__, d.ending.ask)\n"
        )
        folder = Path(__file__).parents[1]
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=folder,
            env=self.daemon.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.kill)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        return process


class Programs(LiveCase):
    async def test_a_client_finds_the_daemon_as_the_program_does(self) -> None:
        self.assertIsInstance(self.client, Client)
        env = {**self.daemon.env(), "COUNTERSIGN__CLIENT__URL": self.daemon.url}
        env["COUNTERSIGN__CLIENT__TOKEN"] = "agent-token-of-the-tests"
        program = (
            "import asyncio, countersign as c\n"
            "call = c.Call(agent='a', session='s', tool='shell_exec', args={'command': 'true'})\n"
            "print(type(asyncio.run(c.Client().decide(call))).__name__)\n"
        )
        command = [sys.executable, "-c", program]
        folder = Path(__file__).parents[1]
        ran = await asyncio.to_thread(
            subprocess.run, command, cwd=folder, env=env, capture_output=True, text=True
        )
        self.assertEqual((ran.stdout, ran.stderr), ("Approved\n", ""))
