"""Pydantic AI: deferred tools.

`deferred_tools` is a capability that answers approvals and questions within a run. `resolve` is for
programs that keep the messages of a run that ended with `DeferredToolRequests`, and go on later.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolApproved

from ..call import Accepts, Choice, Question
from ..decision import Answered, Approved, Denied, Edited
from .asking import Asking, together


def deferred_tools(asking: Asking) -> HandleDeferredToolCalls[Any]:
    """A capability that answers a run's deferred calls."""

    async def handle(
        context: RunContext[Any], requests: DeferredToolRequests
    ) -> DeferredToolResults:
        return await resolve(requests, asking)

    return HandleDeferredToolCalls(handler=handle)


async def resolve(requests: DeferredToolRequests, asking: Asking) -> DeferredToolResults:
    """Answers approvals and questions. Calls that another program executes stay as they are."""
    questions = [c for c in requests.calls if requests.kind(c.tool_call_id) == "question"]
    approvals, answers = await together(
        [
            together(_approval(part, asking) for part in requests.approvals),
            together(_question(part, asking) for part in questions),
        ]
    )
    return DeferredToolResults(
        approvals={
            part.tool_call_id: result
            for part, result in zip(requests.approvals, approvals, strict=True)
        },
        calls={part.tool_call_id: result for part, result in zip(questions, answers, strict=True)},
    )


async def _approval(part: ToolCallPart, asking: Asking) -> Any:
    accepts = [Accepts.UPDATED_INPUT]
    call = asking.call(part.tool_name, part.args_as_dict(), part.tool_call_id, accepts)
    decision = await asking.kept(call)
    match decision:
        case Approved():
            return ToolApproved()
        case Edited(args=dict(args)):
            return ToolApproved(override_args=args)
        case Denied():
            return ToolDenied(decision.text_for_model)
    return ToolDenied("the decision fits no tool call")


async def _question(part: ToolCallPart, asking: Asking) -> Any:
    args = part.args_as_dict()
    text, labels = args.get("question"), args.get("options") or []
    if not isinstance(text, str) or not all(isinstance(label, str) for label in labels):
        return "Nobody was asked: `question` is a text, and `options` a list of texts."
    question = Question(text, [Choice(label) for label in labels])
    decision = await asking.question(question, part.tool_call_id)
    if isinstance(decision, Answered):
        return decision.text(text)
    return f"No answer: {decision.text_for_model}"
