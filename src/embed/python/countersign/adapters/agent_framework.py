"""Microsoft's Agent Framework: tools with `approval_mode="always_require"`.

`run` runs an agent and answers its requests until none is left. `save` receives the session as text
before anybody is asked; `load` reads it, and `run` goes on with it after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import AgentResponse, AgentSession, ChatMiddleware, Content, Message

from ..decision import Approved, Denied
from .asking import Asking, together


@dataclass(frozen=True)
class Paused:
    """A session that waits for people."""

    session: AgentSession
    requests: Sequence[Content]


async def run(
    agent: Any,
    start: Any,
    asking: Asking,
    save: Callable[[str], object] | None = None,
    *,
    session: AgentSession | None = None,
    **options: Any,
) -> AgentResponse[Any]:
    """Runs an agent; `start` is its input, or a session that was saved.

    A response that also requests what is no approval is returned as it is, and nothing of it ran.
    """
    reasons = _Reasons()
    if isinstance(start, Paused):
        session, requests = start.session, start.requests
    else:
        session = session or agent.create_session()
        response: AgentResponse[Any] = await agent.run(start, session=session, **options)
        requests = _approvals(response)
    while requests:
        if save is not None:
            save(_text(session, requests))
        answers = await together(_answer(request, asking, reasons) for request in requests)
        message = Message("user", answers)
        response = await agent.run(message, session=session, **_with(reasons, options))
        requests = _approvals(response)
    return response


def load(text: str) -> Paused:
    """A session that was saved."""
    saved = json.loads(text)
    requests = [Content.from_dict(request) for request in saved["requests"]]
    return Paused(AgentSession.from_dict(saved["session"]), requests)


def _text(session: AgentSession, requests: Sequence[Content]) -> str:
    return json.dumps(
        {"session": session.to_dict(), "requests": [request.to_dict() for request in requests]}
    )


def _approvals(response: AgentResponse[Any]) -> Sequence[Content]:
    """The approvals that a response requests; none where it requests something else too."""
    requests: Sequence[Content] = response.user_input_requests
    if all(r.type == "function_approval_request" and r.id and r.function_call for r in requests):
        return requests
    return ()


async def _answer(request: Content, asking: Asking, reasons: _Reasons) -> Content:
    asked: Any = request.function_call
    tool = asked.name or "unknown"
    if asked.hosted and asked.server_name:
        tool = f"mcp__{asked.server_name}__{tool}"
    # The framework runs the arguments that it recorded, so an edit is not offered.
    call = asking.call(tool, asked.parse_arguments() or {}, str(request.id))
    decision = await asking.kept(call)
    match decision:
        case Approved():
            return request.to_function_approval_response(True)
        case Denied():
            reasons.by_call[asked.id] = decision.text_for_model
    return request.to_function_approval_response(False)


class _Reasons(ChatMiddleware):
    """Tells the model why a call was denied; the framework only tells it that it was."""

    def __init__(self) -> None:
        self.by_call: dict[str | None, str] = {}

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        for message in context.messages:
            for content in message.contents:
                if content.type == "function_result" and content.id in self.by_call:
                    self._explain(content)
        await call_next()

    def _explain(self, rejected: Content) -> None:
        why = self.by_call[rejected.id]
        told = Content.from_function_result(call_id=str(rejected.call_id), result=why)
        # In place, so that the history has it too.
        rejected.result, rejected.items = told.result, told.items


def _with(reasons: _Reasons, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a run, with this middleware after those that the program gave."""
    client = options.get("client_kwargs") or {}
    given = client.get("middleware") or []
    given = list(given) if isinstance(given, Sequence) else [given]
    return {**options, "client_kwargs": {**client, "middleware": [*given, reasons]}}
