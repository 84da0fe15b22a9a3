"""A LangChain agent whose commands people approve. Run it again after it was killed: it goes on."""

import asyncio
import subprocess

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from scripted import LangChainModel  # Put your own model in its place.

from countersign import Client
from countersign.adapters import langgraph
from countersign.adapters.asking import Asking


@tool
def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


@tool
def ask_user(question: str, options: list[str]) -> str:
    """Asks the user."""
    raise NotImplementedError("the middleware answers in its place")


async def main() -> None:
    review = HumanInTheLoopMiddleware(
        interrupt_on={"shell_exec": True, "ask_user": {"allowed_decisions": ["respond"]}},
        interrupt_mode="per_call",
    )
    config = {"configurable": {"thread_id": "deploy-1"}}
    asking = Asking(Client(), agent="langchain", session="deploy-1")
    async with AsyncSqliteSaver.from_conn_string("agent.db") as saver:
        agent = create_agent(
            LangChainModel(), [shell_exec, ask_user], middleware=[review], checkpointer=saver
        )
        begun = (await agent.aget_state(config)).values
        start = None if begun else {"messages": [{"role": "user", "content": "deploy"}]}
        result = await langgraph.run(agent, start, config, asking)
    print(result["messages"][-1].content)


asyncio.run(main())
