"""Models that follow a script: they ask for one tool call and repeat what came of it."""

import json
import os
from typing import Any

# What the models want: SCRIPT of the environment, so that tests can say it.
WANTED: dict[str, Any] = json.loads(
    os.environ.get("SCRIPT", '{"tool": "shell_exec", "args": {"command": "make deploy"}}')
)

try:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class LangChainModel(BaseChatModel):
        """Answers with the call first, and with its result then."""

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

        def _generate(self, messages: Any, *given: Any, **options: Any) -> ChatResult:
            last = messages[-1]
            if last.type == "tool":
                message = AIMessage(f"done: {last.content}")
            else:
                call = {"name": WANTED["tool"], "args": WANTED["args"], "id": "call-1"}
                message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

        @property
        def _llm_type(self) -> str:
            return "scripted"

except ImportError:
    pass

try:
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class OpenAIModel(Model):
        """Answers with the call first, and with its result then."""

        async def get_response(self, *given: Any, **more: Any) -> Any:
            results = [i for i in more["input"] if isinstance(i, dict) and "output" in i]
            if results:
                text = ResponseOutputText(
                    text=f"done: {results[-1]['output']}", type="output_text", annotations=[]
                )
                output: Any = ResponseOutputMessage(
                    id="m1", content=[text], role="assistant", status="completed", type="message"
                )
            else:
                output = ResponseFunctionToolCall(
                    call_id="call-1",
                    name=WANTED["tool"],
                    arguments=json.dumps(WANTED["args"]),
                    type="function_call",
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *given: Any, **more: Any) -> Any:
            raise NotImplementedError

except ImportError:
    pass


def pydantic_model() -> Any:
    """Answers with the call first, and with its result then."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def respond(messages: Any, info: Any) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse([TextPart(f"done: {last.content}")])
        return ModelResponse([ToolCallPart(WANTED["tool"], WANTED["args"], "call-1")])

    return FunctionModel(respond)


def adk_model() -> Any:
    """Answers with the call first, and with its result then."""
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai.types import Content, FunctionCall, Part

    class Scripted(BaseLlm):
        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
            result = request.contents[-1].parts[-1].function_response
            if result is not None:
                part = Part(text=f"done: {result.response}")
            else:
                call = FunctionCall(id="call-1", name=WANTED["tool"], args=WANTED["args"])
                part = Part(function_call=call)
            yield LlmResponse(content=Content(role="model", parts=[part]))

    return Scripted(model="scripted")


def agent_framework_model() -> Any:
    """Answers with the call first, and with its result then."""
    from agent_framework import (
        BaseChatClient,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        Message,
    )

    class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
        async def _inner_get_response(self, *, messages: Any, **options: Any) -> ChatResponse:
            last = messages[-1].contents[-1]
            if last.type == "function_result":
                content = Content.from_text(f"done: {last.result}")
            else:
                content = Content.from_function_call(
                    "call-1", WANTED["tool"], arguments=json.dumps(WANTED["args"])
                )
            return ChatResponse(messages=[Message("assistant", [content])])

    return Scripted()
