"""MCP clients: tool calls that people approve, and elicitations that people answer."""

from __future__ import annotations

from typing import Any

from mcp import Client, types

from ..call import Accepts, Choice, Question, fresh_key
from ..decision import Answered, Approved, Denied, Edited
from .asking import Asking


class ApprovedTools:
    """Calls the tools of one MCP server, each after its approval."""

    def __init__(self, client: Client, server: str, asking: Asking) -> None:
        self._client, self._server, self._asking = client, server, asking

    async def call_tool(
        self, name: str, args: dict[str, Any], key: str | None = None
    ) -> types.CallToolResult:
        """Calls a tool if it is approved; else the result is an error that says why."""
        tool = f"mcp__{self._server}__{name}"
        call = self._asking.call(tool, args, key or fresh_key(), [Accepts.UPDATED_INPUT])
        decision = await self._asking.client.decide(call)
        match decision:
            case Approved():
                return await self._client.call_tool(name, args)
            case Edited(args=dict(edited)):
                return await self._client.call_tool(name, edited)
            case Denied():
                return _refused(decision.text_for_model)
        return _refused("the decision fits no tool call")


def _refused(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=why)], is_error=True)


def elicitation(asking: Asking) -> Any:
    """The `elicitation_callback` of a client: a server's forms become questions to a person."""

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        if not isinstance(params, types.ElicitRequestFormParams):
            # A person who is asked in a chat cannot be sent to an address that a server names.
            return types.ElicitResult(action="decline")
        schema = params.requested_schema
        fields = {
            name: _question(params.message, name, field)
            for name, field in schema.get("properties", {}).items()
        }
        call = asking.call("ask_user", {}, fresh_key(), questions=list(fields.values()))
        decision = await asking.client.decide(call)
        if not isinstance(decision, Answered):
            return types.ElicitResult(action="decline")
        content: dict[str, Any] = {}
        for name, question in fields.items():
            value = _value(decision.text(question.question), schema["properties"][name])
            if value is None and name in schema.get("required", []):
                return types.ElicitResult(action="cancel")
            if value is not None:
                content[name] = value
        return types.ElicitResult(action="accept", content=content)

    return elicit


def _question(message: str, name: str, field: dict[str, Any]) -> Question:
    labels = ["yes", "no"] if field.get("type") == "boolean" else field.get("enum", [])
    about = field.get("description") or field.get("title") or name
    text = f"{message}\n{about}"
    return Question(text, [Choice(str(label)) for label in labels], header=name)


def _value(text: str, field: dict[str, Any]) -> Any:
    """A person's words as the form wants them; `None` where they do not fit."""
    kind = field.get("type", "string")
    try:
        if kind == "boolean":
            return {"yes": True, "no": False}.get(text.strip().lower())
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return None
    if "enum" in field and text not in field["enum"]:
        return None
    return text or None
