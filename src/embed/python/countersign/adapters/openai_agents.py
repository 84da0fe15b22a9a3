"""OpenAI Agents SDK: tools with `needs_approval`.

`run` runs an agent and answers its interruptions until none is left. `save` receives the state as
text before anybody is asked; `load` makes it a state again, with which `run` goes on after a
restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agents import Agent, Runner, RunResult, RunState, ToolApprovalItem

from ..decision import Approved, Denied
from .asking import Asking, together


async def run(
    agent: Agent[Any],
    start: Any,
    asking: Asking,
    save: Callable[[str], object] | None = None,
    **options: Any,
) -> RunResult:
    """Runs an agent; `start` is its input, or a state that was saved."""
    result = await Runner.run(agent, start, **options)
    while result.interruptions:
        state = result.to_state()
        if save is not None:
            save(state.to_string())
        await together(_answer(state, item, asking) for item in result.interruptions)
        result = await Runner.run(agent, state, **options)
    return result


async def load(agent: Agent[Any], text: str) -> RunState[Any, Agent[Any]]:
    """A state that was saved."""
    return await RunState.from_string(agent, text)


async def _answer(state: RunState[Any, Agent[Any]], item: ToolApprovalItem, asking: Asking) -> None:
    key = item.call_id
    if not key:
        # FAIL-CLOSED: without an id another call could get this one's answer.
        state.reject(item, rejection_message="the call has no id, so nobody can be asked")
        return
    # The SDK runs the model's own arguments, so an edit is not offered.
    call = asking.call(item.tool_name or "unknown", _arguments(item), key)
    decision = await asking.kept(call)
    match decision:
        case Approved():
            state.approve(item)
        case Denied():
            state.reject(item, rejection_message=decision.text_for_model)
        case _:
            state.reject(item, rejection_message="the decision fits no tool call")


def _arguments(item: ToolApprovalItem) -> Any:
    """The arguments as they are; what is no JSON is shown as text."""
    text = item.arguments or "{}"
    try:
        return json.loads(text)
    except ValueError:
        return {"arguments": text}
