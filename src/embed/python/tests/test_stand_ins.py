"""Adapters whose frameworks are stood in for: whatever the daemon says or does not, nothing else
than an approval lets a tool run. `test_adapters` runs them with the real frameworks."""

import importlib
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import countersign.adapters
from countersign import Client, CountersignError
from countersign.adapters.asking import Asking

from .fake import OPEN, Reply, Request, answered, daemon
from .test_client import WithFolder

APPROVED: Reply = (200, answered("allow", "approve"))
EDITED: Reply = (200, answered("edited", "edit", updated_input={"command": "make safe"}))
DENIED: Reply = (200, answered("deny", "deny"))
# What is no decision. `None` closes the connection each time, until the client gives up.
NO_DECISION: list[Reply] = [
    (200, answered("perhaps", "approve")),
    (200, answered("allow", "answer", answers={"Which?": "eu"})),
    (200, {"verdict": "allow", "state": "answered"}),
    (200, ["allow"]),
    (403, {"error": "no"}),
    (500, {}),
    b"HTTP/1.1 200 X\r\ncontent-length: 2\r\n\r\n[]",
    None,
]


def adapter(name: str, **modules: dict[str, Any]) -> ModuleType:
    """The module of an adapter, with modules of these names in the place of its framework."""
    stood_in = {}
    for path, contents in modules.items():
        module = ModuleType(path.replace("__", "."))
        vars(module).update(contents, __path__=[])
        stood_in[module.__name__] = module
    with mock.patch.dict(sys.modules, stood_in):
        sys.modules.pop(f"countersign.adapters.{name}", None)
        loaded = importlib.import_module(f"countersign.adapters.{name}")
    # The next import finds the real one.
    delattr(countersign.adapters, name)
    return loaded


def replying(reply: Reply) -> Any:
    """A daemon that opens an ask, and then says this."""
    opened: set[str] = set()

    def reply_to(request: Request) -> Reply:
        key = request.json["key"] if request.target.startswith("/v1/calls") else ""
        if not key or key in opened:
            return reply
        opened.add(key)
        return (202, OPEN)

    return reply_to


class Confirmation(SimpleNamespace):
    confirmed = False


class Plugin:
    def __init__(self, name: str) -> None:
        self.name = name


google_adk = adapter(
    "google_adk",
    google={},
    google__adk={},
    google__adk__plugins={"BasePlugin": Plugin},
    google__adk__tools={},
    google__adk__tools__base_tool={"BaseTool": object},
    google__adk__tools__tool_confirmation={"ToolConfirmation": Confirmation},
    google__adk__tools__tool_context={"ToolContext": object},
)


@dataclass
class Tool:
    """A tool as ADK runs it: after the plugins, and not without the confirmation it requires."""

    requires: bool = True
    name: str = "shell_exec"
    ran: list[Any] = field(default_factory=list)

    async def check_require_confirmation(self, args: Any, context: Any) -> bool:
        return self.requires

    async def run(self, plugin: Any, context: Any) -> Any:
        args = {"command": "make"}
        told = await plugin.before_tool_callback(tool=self, tool_args=args, tool_context=context)
        confirmed = context.tool_confirmation is not None and context.tool_confirmation.confirmed
        if told is None and (confirmed or not self.requires):
            self.ran.append(args)
        return told


class GoogleAdk(WithFolder):
    async def told(
        self, reply: Reply, tool: Tool, context: Any = None, also: Any = ()
    ) -> tuple[Any, list[Request]]:
        """What the model is told, and what the daemon was."""
        given = {"invocation_id": "i1", "function_call_id": "c1", "tool_confirmation": None}
        context = SimpleNamespace(**{**given, **(context or {})})
        async with daemon(self.folder, replying(reply), outage=0.3) as (fake, client):
            plugin = google_adk.Approvals(lambda _: Asking(client, "adk", "s"), also)
            return await tool.run(plugin, context), fake.requests

    async def test_an_approved_call_runs_and_is_asked_by_its_ids(self) -> None:
        tool = Tool()
        told, requests = await self.told(APPROVED, tool)
        self.assertEqual((told, tool.ran), (None, [{"command": "make"}]))
        sent = requests[0].json
        self.assertEqual((sent["key"], sent["tool"]), ("i1-c1", "shell_exec"))
        self.assertEqual(sent["accepts"], ["updated_input"])

    async def test_an_edited_call_runs_with_the_edit_alone(self) -> None:
        tool = Tool()
        await self.told(EDITED, tool)
        self.assertEqual(tool.ran, [{"command": "make safe"}])

    async def test_nothing_else_lets_it_run_and_the_model_learns_why(self) -> None:
        for reply in [DENIED, *NO_DECISION]:
            tool = Tool()
            told, _ = await self.told(reply, tool)
            self.assertEqual(tool.ran, [], reply)
            self.assertTrue(told["error"], reply)

    async def test_an_edit_that_is_no_arguments_runs_nothing(self) -> None:
        tool = Tool()
        told, _ = await self.told((200, answered("edited", "edit", updated_input=["ls"])), tool)
        self.assertEqual(tool.ran, [])
        self.assertTrue(told["error"])

    async def test_a_confirmation_that_came_another_way_is_none(self) -> None:
        yes = {"tool_confirmation": Confirmation(confirmed=True)}
        for reply in [DENIED, *NO_DECISION]:
            tool = Tool()
            await self.told(reply, tool, yes)
            self.assertEqual(tool.ran, [], reply)

    async def test_a_call_without_an_id_runs_nothing_and_nobody_is_asked(self) -> None:
        tool = Tool()
        told, requests = await self.told(APPROVED, tool, {"function_call_id": None})
        self.assertEqual((tool.ran, requests), ([], []))
        self.assertRegex(told["error"], "no id")

    async def test_a_tool_that_requires_nothing_asks_only_if_it_is_named(self) -> None:
        tool = Tool(requires=False)
        _, requests = await self.told(DENIED, tool)
        self.assertEqual((len(tool.ran), requests), (1, []))
        told, _ = await self.told(DENIED, tool, also=["shell_exec"])
        self.assertEqual(len(tool.ran), 1)
        self.assertTrue(told["error"])


@dataclass
class Content:
    type: str
    id: str | None = None
    function_call: Any = None
    approved: object = None
    call_id: str | None = None
    result: str | None = None
    items: Any = None

    def to_function_approval_response(self, approved: bool) -> "Content":
        return Content("function_approval_response", self.id, self.function_call, approved)

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Content":
        return request(told["id"])

    @classmethod
    def from_function_result(cls, call_id: str, result: str) -> "Content":
        return cls("function_result", call_id=call_id, result=result)


@dataclass
class Message:
    role: str
    contents: list[Content]


class Session(SimpleNamespace):
    def to_dict(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Session":
        return cls(**told)


agent_framework = adapter(
    "agent_framework",
    agent_framework={
        "AgentResponse": list,
        "AgentSession": Session,
        "ChatMiddleware": object,
        "Content": Content,
        "Message": Message,
    },
)


def request(key: str | None = "r1", **more: Any) -> Content:
    given = {"name": "shell_exec", "hosted": False, "server_name": None, "id": key, **more}
    asked = SimpleNamespace(parse_arguments=lambda: {"command": "make"}, **given)
    return Content("function_approval_request", key, asked)


class Agent:
    """An agent as the framework runs it: an approved call runs, and each answer has a result."""

    def __init__(self, *requests: Content) -> None:
        self.requests = list(requests)
        self.ran: list[Any] = []
        self.told: list[str | None] = []

    def create_session(self) -> Session:
        return Session()

    async def run(self, given: Any, *, session: Session, client_kwargs: Any = None) -> Any:
        if not isinstance(given, Message):
            return SimpleNamespace(user_input_requests=self.requests)
        results = []
        for answer in given.contents:
            if answer.approved is True:
                self.ran.append(answer.id)
            result = "ran" if answer.approved is True else "rejected"
            results.append(Content("function_result", answer.id, call_id="c", result=result))

        async def model() -> None:
            self.told = [result.result for result in results]

        [middleware] = client_kwargs["middleware"]
        await middleware.process(SimpleNamespace(messages=[Message("tool", results)]), model)
        return SimpleNamespace(user_input_requests=[])


class AgentFramework(WithFolder):
    def asking(self, client: Client) -> Asking:
        return Asking(client, "agent-framework", "s")

    async def test_an_approved_call_runs_and_is_asked_by_its_id(self) -> None:
        agent, saved = Agent(request()), []
        async with daemon(self.folder, replying(APPROVED)) as (fake, client):
            await agent_framework.run(agent, "deploy", self.asking(client), saved.append)
        self.assertEqual((agent.ran, agent.told, len(saved)), (["r1"], ["ran"], 1))
        sent = fake.requests[0].json
        self.assertEqual((sent["key"], sent["tool"]), ("r1", "shell_exec"))
        self.assertNotIn("accepts", sent)

    async def test_a_saved_session_goes_on_with_the_same_key(self) -> None:
        agent, saved = Agent(request()), []
        async with daemon(self.folder, replying(None), outage=0.3) as (_, client):
            with self.assertRaises(CountersignError):
                await agent_framework.run(agent, "deploy", self.asking(client), saved.append)
        again = Agent()
        async with daemon(self.folder, replying(APPROVED)) as (fake, client):
            start = agent_framework.load(saved[0])
            await agent_framework.run(again, start, self.asking(client))
        self.assertEqual((agent.ran, again.ran), ([], ["r1"]))
        self.assertEqual(fake.requests[0].json["key"], "r1")

    async def test_a_denied_call_does_not_run_and_the_model_learns_why(self) -> None:
        agent = Agent(request("r1"), request("r2"))

        def reply(sent: Request) -> Reply:
            if sent.method == "POST" and sent.json["key"] == "r2":
                return (200, {"verdict": "deny", "reason": "not on a Friday"})
            return replying(APPROVED)(sent)

        async with daemon(self.folder, reply) as (_, client):
            await agent_framework.run(agent, "deploy", self.asking(client))
        self.assertEqual((agent.ran, agent.told), (["r1"], ["ran", "not on a Friday"]))

    async def test_nothing_runs_without_a_decision(self) -> None:
        for reply in [EDITED, *NO_DECISION]:
            agent = Agent(request())
            async with daemon(self.folder, replying(reply), outage=0.3) as (_, client):
                with self.assertRaises(CountersignError):
                    await agent_framework.run(agent, "deploy", self.asking(client))
            self.assertEqual(agent.ran, [], reply)

    async def test_a_response_that_requests_something_else_is_returned_as_it_is(self) -> None:
        odd = [Content("function_call", "r2"), request(None)]
        odd.append(Content("function_approval_request", "r3"))
        for other in odd:
            agent = Agent(request(), other)
            async with daemon(self.folder, replying(APPROVED)) as (fake, client):
                result = await agent_framework.run(agent, "deploy", self.asking(client))
            self.assertEqual(result.user_input_requests, agent.requests)
            self.assertEqual((agent.ran, fake.requests), ([], []))

    async def test_the_tool_of_a_server_is_asked_with_the_servers_name(self) -> None:
        agent = Agent(request(hosted=True, server_name="builder"))
        async with daemon(self.folder, replying(APPROVED)) as (fake, client):
            await agent_framework.run(agent, "deploy", self.asking(client))
        self.assertEqual(fake.requests[0].json["tool"], "mcp__builder__shell_exec")

    def test_the_programs_own_middleware_stays(self) -> None:
        reasons = agent_framework._Reasons()
        for given, kept in [(None, []), ("one", None), (["a", "b"], ["a", "b"])]:
            one = object()
            given, kept = (one, [one]) if given == "one" else (given, kept)
            options = {"tools": [1], "client_kwargs": {"middleware": given, "user": "ana"}}
            with_it = agent_framework._with(reasons, options)
            self.assertEqual(with_it["client_kwargs"]["middleware"], [*kept, reasons])
            self.assertEqual((with_it["tools"], with_it["client_kwargs"]["user"]), ([1], "ana"))
