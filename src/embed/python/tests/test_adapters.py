"""The examples of the adapters, with the real frameworks, scripted models and the real daemon."""

import importlib.util
import json
import unittest

from .test_examples import ExampleCase

QUESTION = "Which region?"
ASK = json.dumps({"tool": "ask_user", "args": {"question": QUESTION, "options": ["eu", "us"]}})


def needs(package: str):
    """Skips a test where the framework is not installed; `tests/embed.sh` installs all."""
    try:
        there = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # Of the package around it.
        there = False
    return unittest.skipUnless(there, f"{package} is not installed")


class Shared:
    """The outcomes of every adapter."""

    example = ""
    edits = True

    async def test_approved(self) -> None:
        said = await self.run_example(self.example, "approve")
        self.assertRegex(said, "^done")
        self.assertEqual(self.ran(), "make deploy")

    async def test_denied_with_a_reason_that_the_model_reads(self) -> None:
        said = await self.run_example(self.example, "deny", reason="not on a Friday")
        self.assertIn("not on a Friday", said)
        self.assertEqual(self.ran(), "")

    async def test_edited(self) -> None:
        if not self.edits:
            self.skipTest("the framework runs the model's own arguments")
        await self.run_example(self.example, "edit", edit="make deploy HOST=staging")
        self.assertEqual(self.ran(), "make deploy HOST=staging")

    async def test_an_edit_is_refused_where_the_framework_has_none(self) -> None:
        if self.edits:
            self.skipTest("the framework runs other arguments")
        process = await self.start(self.example)
        ask = await self.daemon.opened()
        self.assertEqual(ask["call"].get("accepts", []), [])
        await self.daemon.answer("deny")
        await self.said(process)
        self.assertEqual(self.ran(), "")

    async def test_the_daemon_was_killed_while_it_waited(self) -> None:
        process = await self.start(self.example)
        before = await self.daemon.opened()
        self.daemon.kill()
        self.daemon.start()
        after = await self.daemon.answer("approve")
        self.assertRegex(await self.said(process), "^done")
        self.assertEqual((after["id"], self.ran()), (before["id"], "make deploy"))

    async def test_nobody_answered_in_time(self) -> None:
        self.daemon.kill()
        self.daemon.timeout("1s")
        self.daemon.start()
        said = await self.said(await self.start(self.example))
        self.assertRegex(said, "Timed out after 1 s")
        self.assertEqual(self.ran(), "")


class Resumed:
    """What adapters do that keep their state."""

    async def test_the_program_was_killed_while_it_waited(self) -> None:
        first = await self.start(self.example)
        before = await self.daemon.opened()
        first.kill()
        await first.wait()
        await self.daemon.answer("approve")
        self.assertRegex(await self.said(await self.start(self.example)), "^done")
        self.assertEqual(
            (await self.daemon.state(before["id"]), self.ran()), ("answered", "make deploy")
        )


class Questions:
    """What adapters do that know questions."""

    async def test_a_question(self) -> None:
        process = await self.start(self.example, SCRIPT=ASK)
        await self.daemon.answer("answer", answers={QUESTION: "us"})
        self.assertEqual(await self.said(process), "done: us")


@needs("langchain")
class LangChain(Shared, Resumed, Questions, ExampleCase):
    example = "langchain_agent"

    async def test_an_edit_that_the_tool_does_not_take_runs_nothing(self) -> None:
        from countersign.adapters import langgraph

        self.assertEqual(
            langgraph._allowed({"properties": {"type": {"const": "reject"}}}), {"reject"}
        )
        for odd in (None, [], "approve"):
            with self.assertRaises(langgraph.UnknownInterrupt):
                langgraph._allowed(odd)


@needs("agents")
class OpenAIAgents(Shared, Resumed, ExampleCase):
    example = "openai_agent"
    edits = False


@needs("pydantic_ai")
class PydanticAI(Shared, Questions, ExampleCase):
    example = "pydantic_agent"


@needs("langgraph")
class LangGraph(ExampleCase):
    example = "langgraph_interrupt"

    async def answered(self, decision: str, **more: object) -> str:
        process = await self.start(self.example)
        await self.daemon.answer("answer", answers={QUESTION: "eu"})
        await self.daemon.answer(decision, **more)
        return await self.said(process)

    async def test_a_question_and_an_approval(self) -> None:
        self.assertEqual(await self.answered("approve"), "deployed")
        self.assertEqual(self.ran(), "make deploy REGION=eu")

    async def test_an_edit(self) -> None:
        self.assertEqual(await self.answered("edit", edit="make deploy REGION=us"), "deployed")
        self.assertEqual(self.ran(), "make deploy REGION=us")

    async def test_a_denial(self) -> None:
        said = await self.answered("deny", reason="not on a Friday")
        self.assertRegex(said, "^not deployed: .*not on a Friday")
        self.assertEqual(self.ran(), "")


@needs("google.adk")
class GoogleAdk(Shared, Resumed, ExampleCase):
    example = "google_adk_agent"


@needs("agent_framework")
class AgentFramework(Shared, Resumed, ExampleCase):
    example = "agent_framework_agent"
    edits = False
