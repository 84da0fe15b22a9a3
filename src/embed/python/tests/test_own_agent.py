"""The samples of docs/own-agent.md: what they gate runs on an allow, and else never."""

import asyncio
import os
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

from .daemon import AGENT
from .fake import FakeDaemon
from .test_examples import ExampleCase

SAMPLES = Path(__file__).parents[4] / "docs/own-agent"

# Bodies that no program may read as leave to run.
GARBAGE = [
    b"", b"not json", b"null", b"[]", b'"allow"', b"{}", b'{"verdict":"Allow"}',
    b'{"verdict":true}', b'{"verdict":["allow"]}', b'{"verdict":"allowed"}', b"<html>allow</html>",
    b'{"verdict":"answered","answer":{"answers":{"q":"allow"}}}', b'{"verdict":"deny","x":"allow"}',
    b'{"verdict":"edited","answer":{"updated_input":{"command":"make deploy"}}}', b"\xff",
]  # fmt: skip


def _new_node() -> bool:
    if shutil.which("node") is None:
        return False
    said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    return int(said.strip().lstrip("v").split(".")[0]) >= 22


class Sample:
    """The outcomes of one sample."""

    command: tuple[str, ...] = ()

    async def run_sample(self, **variables: str) -> asyncio.subprocess.Process:
        env = {"URL": self.daemon.url, "TOKEN": AGENT, **variables}
        return await self.spawn(*self.command, "make deploy", **env)

    async def outcome(self, process: asyncio.subprocess.Process, at_most: float = 30) -> str:
        """What it printed, once it has ended; or that it still waits."""
        try:
            out, errors = await asyncio.wait_for(process.communicate(), at_most)
        except asyncio.TimeoutError:
            process.kill()
            return "it still waits"
        return f"{process.returncode} {out.decode()}{errors.decode()}".strip()

    async def test_an_approved_command_runs(self) -> None:
        process = await self.run_sample()
        await self.daemon.answer("approve")
        self.assertEqual(await self.outcome(process), "0")
        self.assertEqual(self.ran(), "make deploy")

    async def test_a_denied_command_does_not_run_and_the_reason_is_told(self) -> None:
        process = await self.run_sample()
        await self.daemon.answer("deny", reason="not on a Friday")
        self.assertRegex(await self.outcome(process), "(?s)^1 not run: .*not on a Friday")
        self.assertEqual(self.ran(), "")

    async def test_a_command_that_nobody_approves_in_time_does_not_run(self) -> None:
        self.daemon.kill()
        self.daemon.timeout("1s")
        self.daemon.start()
        self.assertRegex(await self.outcome(await self.run_sample()), "(?s)^1 not run: .*after 1 s")
        self.assertEqual(self.ran(), "")

    async def test_a_daemon_that_was_killed_gives_the_same_asks_answer(self) -> None:
        process = await self.run_sample()
        before = await self.daemon.opened()
        self.daemon.kill()
        self.daemon.start()
        after = await self.daemon.answer("approve")
        self.assertEqual(await self.outcome(process), "0")
        self.assertEqual((after["id"], self.ran()), (before["id"], "make deploy"))

    async def test_a_sample_that_is_killed_runs_nothing_and_takes_its_ask_back(self) -> None:
        process = await self.run_sample()
        ask = await self.daemon.opened()
        os.killpg(process.pid, 9)
        await process.wait()
        self.assertEqual(await self.daemon.closed(ask["id"]), "cancelled")
        self.assertEqual(self.ran(), "")


class Web(Sample):
    """The outcomes of a sample that speaks HTTP itself."""

    async def test_a_wrong_token_runs_nothing(self) -> None:
        process = await self.run_sample(TOKEN="wrong-token-of-the-tests")
        self.assertRegex(await self.outcome(process), "(?s)^1 not run: .*token")
        self.assertEqual(self.ran(), "")

    async def test_no_failing_server_lets_anything_run(self) -> None:
        allow = {"verdict": "allow"}
        replies: list[Any] = [(200, body) for body in GARBAGE]
        replies += [(status, allow) for status in (301, 302, 401, 403, 404, 409, 429, 500, 503)]
        for reply in replies:
            fake = FakeDaemon(lambda _, reply=reply: reply)
            server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            process = await self.run_sample(URL=f"http://127.0.0.1:{port}")
            said = await self.outcome(process)
            server.close()
            self.assertEqual(self.ran(), "", reply)
            self.assertRegex(said, "^1 not run: .", str(reply))

    async def test_nobody_and_silence_let_nothing_run(self) -> None:
        async def silent(request: Any) -> None:
            await request.gone.wait()

        fake = FakeDaemon(silent)
        server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for url in (f"http://127.0.0.1:{port}", "http://127.0.0.1:1"):
            process = await self.run_sample(URL=url)
            self.assertEqual(await self.outcome(process, 3), "it still waits")
            self.assertEqual(self.ran(), "")
        server.close()


class Shell(Sample, ExampleCase):
    command = ("sh", str(SAMPLES / "ask.sh"))

    async def test_without_a_daemon_nothing_runs(self) -> None:
        self.daemon.kill()
        said = await self.outcome(await self.run_sample())
        self.assertRegex(said, "(?s)^1 not run: .*no countersign daemon")
        self.assertEqual(self.ran(), "")


@unittest.skipUnless(shutil.which("curl") and shutil.which("jq"), "there is no curl or no jq")
class Curl(Web, ExampleCase):
    command = ("sh", str(SAMPLES / "curl.sh"))


class Python(Web, ExampleCase):
    command = ("python3", str(SAMPLES / "agent.py"))


@unittest.skipUnless(_new_node(), "there is no node, 22 or newer")
class TypeScript(Web, ExampleCase):
    command = ("node", "--disable-warning=ExperimentalWarning", str(SAMPLES / "agent.mts"))
