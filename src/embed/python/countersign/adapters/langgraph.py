"""LangGraph's `interrupt()` and LangChain's human-in-the-loop middleware.

`run` runs a graph and answers its interrupts until none is left. With a checkpointer that outlives
the process, `run(graph, None, config, …)` goes on after a restart with the same asks.
"""

from __future__ import annotations

from typing import Any

from langgraph.types import Command, Interrupt
from pydantic import ValidationError

from ..call import Accepts, Choice, Question
from ..decision import Answered, Approved, Decision, Denied, Edited
from .asking import Asking, together


class UnknownInterrupt(Exception):
    """This adapter cannot show the interrupt to a person. The graph stays interrupted."""


async def run(graph: Any, start: Any, config: Any, asking: Asking) -> Any:
    """Runs a graph until it ends; `start` is its input, or `None` to go on where it stopped."""
    if start is not None:
        await graph.ainvoke(start, config)
    while pending := (await graph.aget_state(config)).interrupts:
        answers = await together(_answer(interrupt, asking) for interrupt in pending)
        # One at a time: an answer that a tool's schema refuses must not let others run twice.
        for interrupt, answer in zip(pending, answers, strict=True):
            await _resume(graph, config, interrupt.id, answer)
    state = await graph.aget_state(config)
    if state.next:
        # It was stopped between two steps, or has never begun.
        return await graph.ainvoke(None, config)
    return state.values


async def _resume(graph: Any, config: Any, interrupt: str, answer: Any) -> None:
    try:
        await graph.ainvoke(Command(resume={interrupt: answer}), config)
    except ValidationError as error:
        if not isinstance(answer, dict) or answer.get("type") != "edit":
            raise
        # FAIL-CLOSED: what was approved does not fit the tool, so nothing runs.
        message = f"the approved arguments do not fit the tool: {error}"
        refusal = {"type": "reject", "message": message}
        await graph.ainvoke(Command(resume={interrupt: refusal}), config)


async def _answer(interrupt: Interrupt[Any], asking: Asking) -> Any:
    value = interrupt.value
    if isinstance(value, dict) and value.get("type") == "tool_approval":
        allowed = _allowed(interrupt.response_schema)
        return await _review(value, allowed, interrupt.id, asking)
    if isinstance(value, dict) and "action_requests" in value:
        actions = zip(value["action_requests"], value["review_configs"], strict=True)
        decisions = await together(
            _review(action, set(config["allowed_decisions"]), f"{interrupt.id}-{at}", asking)
            for at, (action, config) in enumerate(actions)
        )
        return {"decisions": decisions}
    if isinstance(value, dict) and isinstance(value.get("question"), str):
        return await _asked(value, interrupt.id, asking)
    if isinstance(value, dict) and isinstance(value.get("tool"), str) and "args" in value:
        accepts = [Accepts.UPDATED_INPUT]
        call = asking.call(value["tool"], value["args"], interrupt.id, accepts)
        return _plain(await asking.kept(call), value["args"])
    raise UnknownInterrupt(
        "an interrupt of this graph is neither a review of LangChain's middleware, nor "
        '{"question": …}, nor {"tool": …, "args": …}; answer it yourself'
    )


async def _review(
    action: dict[str, Any], allowed: set[str], key: str, asking: Asking
) -> dict[str, Any]:
    """The decision on one tool call, in the words of LangChain's middleware."""
    if allowed == {"respond"}:
        said = await _asked({"question": action["description"], **action["args"]}, key, asking)
        if said is None:
            raise UnknownInterrupt(f"nobody answered `{action['name']}`, and it takes no refusal")
        return {"type": "respond", "message": said}
    accepts = [Accepts.UPDATED_INPUT] if "edit" in allowed else []
    decision = await asking.kept(asking.call(action["name"], action["args"], key, accepts))
    answer: dict[str, Any]
    match decision:
        case Approved():
            answer = {"type": "approve"}
        case Edited(args=args):
            answer = {"type": "edit", "edited_action": {"name": action["name"], "args": args}}
        case Denied():
            answer = {"type": "reject", "message": decision.text_for_model}
        case _:
            raise UnknownInterrupt("an answer to no question")
    if answer["type"] not in allowed:
        raise UnknownInterrupt(f"`{action['name']}` takes no decision `{answer['type']}`")
    return answer


async def _asked(value: dict[str, Any], key: str, asking: Asking) -> str | None:
    """A person's words; `None` where nobody answers."""
    labels = value.get("options") or []
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise UnknownInterrupt("`options` of a question is a list of texts")
    text = value["question"]
    question = Question(text, [Choice(label) for label in labels])
    decision = await asking.question(question, key)
    return decision.text(text) if isinstance(decision, Answered) else None


def _plain(decision: Decision, args: Any) -> dict[str, Any]:
    """A decision as what `interrupt()` returns: run `args` only where there are some."""
    match decision:
        case Approved():
            return {"verdict": "approved", "args": args, "reason": decision.reason}
        case Edited(args=edited):
            return {"verdict": "edited", "args": edited, "reason": decision.reason}
        case Denied():
            return {"verdict": "denied", "args": None, "reason": decision.text_for_model}
    raise UnknownInterrupt("an answer to no question")


def _allowed(schema: Any) -> set[str]:
    """The decisions that LangChain's schema of an answer takes."""
    if not isinstance(schema, dict):
        raise UnknownInterrupt("a review without a schema of its answer")
    if "discriminator" in schema:
        return set(schema["discriminator"]["mapping"])
    return {schema["properties"]["type"]["const"]}
