"""Google's Agent Development Kit: tools with `require_confirmation`.

`Approvals` is a plugin that answers such a tool's confirmation before the tool runs. The ask stays
open when this process ends; a resumable app whose sessions are stored goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from google.adk.plugins import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext

from ..call import Accepts
from ..decision import Approved, Denied, Edited
from ..errors import CountersignError
from .asking import Asking


class Approvals(BasePlugin):
    """Asks a person before a tool runs that requires confirmation.

    `asking` says who asks: a runner serves many conversations, and what is approved for one must
    not hold in another. `also` names tools that ask only while they run, such as `execute_bash`.
    Plugins that change arguments are registered before this one, so that people see what runs; an
    agent's own `before_tool_callback` gets what was approved.
    """

    def __init__(self, asking: Callable[[ToolContext], Asking], also: Collection[str] = ()) -> None:
        super().__init__("countersign")
        self._asking, self._also = asking, also

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """`None` lets the tool run, or ADK's own confirmation stand; all else is its result."""
        asked = tool.name in self._also
        if not asked and not await tool.check_require_confirmation(tool_args, tool_context):
            return None
        # SECURITY: a yes that came another way, such as in a user's message, is none.
        tool_context.tool_confirmation = None
        try:
            return await self._answer(tool.name, tool_args, tool_context)
        except CountersignError as error:
            # FAIL-CLOSED: without a decision nothing runs, and the model learns why.
            return _refused(str(error))

    async def _answer(
        self, tool: str, args: dict[str, Any], context: ToolContext
    ) -> dict[str, Any] | None:
        if not context.function_call_id:
            return _refused("the call has no id, so nobody can be asked")
        # Some models count their calls from one again in each invocation.
        key = f"{context.invocation_id}-{context.function_call_id}"
        asking = self._asking(context)
        decision = await asking.kept(asking.call(tool, args, key, [Accepts.UPDATED_INPUT]))
        match decision:
            case Approved():
                pass
            case Edited(args=dict(edited)):
                # The tool runs with this very object.
                args.clear()
                args.update(edited)
            case Denied():
                return _refused(decision.text_for_model)
            case _:
                return _refused("the decision fits no tool call")
        context.tool_confirmation = ToolConfirmation(confirmed=True)
        return None


def _refused(why: str) -> dict[str, Any]:
    return {"error": why}
