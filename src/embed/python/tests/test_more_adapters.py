"""The examples with the Claude Agent SDK and MCP, with the real packages and the real daemon."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .test_adapters import Shared, needs
from .test_examples import ExampleCase

MODEL = Path(__file__).parents[2] / "claude_model.py"
QUESTION = {"question": "Which region?", "header": "Region", "multiSelect": False}


@needs("claude_agent_sdk")
class ClaudeAgent(Shared, ExampleCase):
    example = "claude_agent"

    async def start(self, example: str, *arguments: str, **variables: str):
        wanted = {"tool": "Bash", "args": {"command": "make deploy", "description": "Deploy"}}
        env = {**os.environ, "SCRIPT": variables.get("SCRIPT") or json.dumps(wanted)}
        model = subprocess.Popen(
            [sys.executable, MODEL], env=env, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(model.communicate)
        self.addCleanup(model.kill)
        assert model.stdout is not None
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        quiet |= {"NO_PROXY": "127.0.0.1", "IS_SANDBOX": "1", "ANTHROPIC_API_KEY": "scripted"}
        url = model.stdout.readline().strip()
        return await super().start(example, *arguments, **quiet, ANTHROPIC_BASE_URL=url)

    async def test_a_denial_that_stops_ends_the_turn(self) -> None:
        said = await self.run_example(self.example, "deny", reason="enough", stop=True)
        self.assertNotRegex(said, "^done")
        self.assertEqual(self.ran(), "")

    async def test_a_question(self) -> None:
        options = [{"label": "eu", "description": "E"}, {"label": "us", "description": "U"}]
        args = {"questions": [{**QUESTION, "options": options}]}
        script = json.dumps({"tool": "AskUserQuestion", "args": args})
        process = await self.start(self.example, SCRIPT=script)
        await self.daemon.answer("answer", answers={"Which region?": "us"})
        self.assertRegex(await self.said(process), r'^done: .*"Which region\?"="us"')


@needs("mcp")
class Mcp(Shared, ExampleCase):
    example = "mcp_client"

    async def test_edited(self) -> None:
        # The client takes an edit; the daemon has none for the arguments of a server's tool.
        with self.assertRaisesRegex(AssertionError, "no command or new text to edit"):
            await self.run_example(self.example, "edit", edit="make deploy HOST=staging")
        self.assertEqual(self.ran(), "")

    async def test_the_card_names_server_and_tool(self) -> None:
        process = await self.start(self.example)
        ask = await self.daemon.answer("approve")
        await self.said(process)
        self.assertEqual(ask["call"]["tool"], "mcp__builder__shell_exec")

    async def test_a_question_of_the_server(self) -> None:
        for decision, more, said in [
            ("answer", {"answers": {"Where to?\nRegion": "eu"}}, "done: to eu"),
            ("deny", {}, "done: decline"),
        ]:
            process = await self.start(self.example, "deploy")
            await self.daemon.answer("approve")
            await self.daemon.answer(decision, **more)
            self.assertEqual(await self.said(process), said)
