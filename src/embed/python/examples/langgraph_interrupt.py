"""A LangGraph graph whose nodes stop with `interrupt()` until people have answered."""

import asyncio
import subprocess
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from countersign import Client
from countersign.adapters import langgraph
from countersign.adapters.asking import Asking


class State(TypedDict, total=False):
    region: str
    said: str


def ask_region(state: State) -> State:
    return {"region": interrupt({"question": "Which region?", "options": ["eu", "us"]})}


def deploy(state: State) -> State:
    command = f"make deploy REGION={state['region']}"
    answer = interrupt({"tool": "shell_exec", "args": {"command": command}})
    if answer["args"] is None:
        return {"said": f"not deployed: {answer['reason']}"}
    subprocess.run(["bash", "-c", answer["args"]["command"]], check=True)
    return {"said": "deployed"}


async def main() -> None:
    builder = StateGraph(State)
    builder.add_node(ask_region)
    builder.add_node(deploy)
    builder.add_edge(START, "ask_region")
    builder.add_edge("ask_region", "deploy")
    builder.add_edge("deploy", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "deploy-1"}}
    asking = Asking(Client(), agent="langgraph", session="deploy-1")
    result = await langgraph.run(graph, {}, config, asking)
    print(result["said"])


asyncio.run(main())
