"""The examples of docs/embed.md, as programs of their own, against the real daemon."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from .daemon import PROGRAM
from .test_live import LiveCase

HERE = Path(__file__).parents[1]


class ExampleCase(LiveCase):
    """A test that runs an example and answers what it asks."""

    async def start(
        self, example: str, *arguments: str, **variables: str
    ) -> asyncio.subprocess.Process:
        """Starts an example in the daemon's folder, where a `make` leaves a mark."""
        file = str(HERE / "examples" / f"{example}.py")
        return await self.spawn(sys.executable, file, *arguments, **variables)

    async def spawn(self, *command: str, **variables: str) -> asyncio.subprocess.Process:
        """Starts a program there."""
        tools = self.daemon.folder / "bin"
        if not tools.exists():
            tools.mkdir()
            (tools / "make").write_text(f'#!/bin/sh\necho "make $*" >> {self.daemon.folder}/ran\n')
            (tools / "make").chmod(0o755)
            (tools / "countersign").symlink_to(str(PROGRAM))
        env = {**self.daemon.env(), "PYTHONPATH": str(HERE), **variables}
        env["PATH"] = f"{tools}{os.pathsep}{env['PATH']}"
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.daemon.folder,
            env=env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

        def kill() -> None:
            if process.returncode is None:
                process.kill()

        self.addCleanup(kill)
        return process

    async def said(self, process: asyncio.subprocess.Process) -> str:
        """What the example printed, once it has ended well."""
        out, errors = await asyncio.wait_for(process.communicate(), 60)
        self.assertEqual(process.returncode, 0, errors.decode())
        return out.decode().strip()

    async def run_example(self, example: str, decision: str, **more: Any) -> str:
        """Runs an example, with a person who decides so."""
        process = await self.start(example)
        saying = asyncio.ensure_future(self.said(process))
        answering = asyncio.ensure_future(self.daemon.answer(decision, **more))
        # An example that fails before it asks is an error at once.
        await asyncio.wait([saying, answering], return_when=asyncio.FIRST_COMPLETED)
        if saying.done():
            answering.cancel()
        else:
            await answering
        return await saying

    def ran(self) -> str:
        """What the example has run."""
        mark = self.daemon.folder / "ran"
        return mark.read_text().strip() if mark.exists() else ""


class Examples(ExampleCase):
    async def test_decide_runs_what_was_approved(self) -> None:
        self.assertEqual(await self.run_example("decide", "approve"), "")
        self.assertEqual(self.ran(), "make deploy")

    async def test_decide_runs_what_was_edited_and_only_that(self) -> None:
        await self.run_example("decide", "edit", edit="make deploy HOST=staging")
        self.assertEqual(self.ran(), "make deploy HOST=staging")

    async def test_decide_runs_nothing_that_was_denied(self) -> None:
        said = await self.run_example("decide", "deny", reason="not on a Friday")
        self.assertRegex(said, "not deployed: .*not on a Friday")
        self.assertEqual(self.ran(), "")

    async def test_decide_goes_on_after_the_daemon_was_killed(self) -> None:
        process = await self.start("decide")
        before = await self.daemon.opened()
        self.daemon.kill()
        self.daemon.start()
        after = await self.daemon.answer("approve")
        await self.said(process)
        self.assertEqual((after["id"], self.ran()), (before["id"], "make deploy"))

    async def test_resume_finds_its_answer_after_it_was_killed(self) -> None:
        first = await self.start("resume", "17")
        ask = await self.daemon.opened()
        first.kill()
        await first.wait()
        await self.daemon.answer("approve")
        self.assertEqual(await self.said(await self.start("resume", "17")), "refunded")
        self.assertEqual(await self.daemon.state(ask["id"]), "answered")

    async def test_question_prints_the_answer(self) -> None:
        answers = {"Which region?": "us-east"}
        self.assertEqual(await self.run_example("question", "answer", answers=answers), "us-east")
