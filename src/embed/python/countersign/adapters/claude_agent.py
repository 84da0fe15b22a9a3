"""Claude Agent SDK: `can_use_tool`.

The callback waits as long as it takes. When Claude gives a request up, or this process ends, the
ask is cancelled.
"""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import (
    CanUseTool,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from ..call import Accepts, Call, Choice, Question
from ..decision import Answered, Approved, Denied, Edited
from ..errors import CountersignError
from .asking import Asking

_ACCEPTS = (Accepts.UPDATED_INPUT, Accepts.STOP)


def can_use_tool(asking: Asking) -> CanUseTool:
    """The callback for `ClaudeAgentOptions(can_use_tool=…)`."""

    async def decide(
        tool: str, args: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        try:
            return await _decide(asking, tool, args, context)
        except CountersignError as error:
            # FAIL-CLOSED: without a decision nothing runs, and the model learns why.
            return PermissionResultDeny(message=str(error))

    return decide


async def _decide(
    asking: Asking, tool: str, args: dict[str, Any], context: ToolPermissionContext
) -> PermissionResultAllow | PermissionResultDeny:
    if not context.tool_use_id:
        return PermissionResultDeny(message="the request has no id, so nobody can be asked")
    questions = _questions(args) if tool == "AskUserQuestion" else []
    call = asking.call(
        tool,
        args,
        context.tool_use_id,
        () if questions else _ACCEPTS,
        questions=questions,
        reason=context.decision_reason,
        description=context.description,
        meta={"agent_id": context.agent_id} if context.agent_id else None,
    )
    return _result(await asking.client.decide(call), call, args)


def _result(
    decision: Any, call: Call, args: dict[str, Any]
) -> PermissionResultAllow | PermissionResultDeny:
    match decision:
        case Approved():
            # With its input: Claude Code ignores a bare allow of a plan.
            return PermissionResultAllow(updated_input=args)
        case Edited(args=dict(edited)):
            return PermissionResultAllow(updated_input=edited)
        case Answered():
            answers = {q.question: decision.text(q.question) for q in call.questions}
            return PermissionResultAllow(updated_input={**args, "answers": answers})
        case Denied():
            return PermissionResultDeny(message=decision.text_for_model, interrupt=decision.stop)
    return PermissionResultDeny(message="the decision fits no tool call")


def _questions(args: dict[str, Any]) -> list[Question]:
    """The questions of AskUserQuestion. The daemon refuses odd ones with a sentence."""
    return [
        Question(
            question=str(asked.get("question", "")),
            header=asked.get("header"),
            multi_select=bool(asked.get("multiSelect", False)),
            options=[
                Choice(str(option.get("label", "")), option.get("description"))
                for option in asked.get("options", [])
            ],
        )
        for asked in args.get("questions", [])
    ]
