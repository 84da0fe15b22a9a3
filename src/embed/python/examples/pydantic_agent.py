"""A Pydantic AI agent whose commands people approve, and whose questions they answer."""

import asyncio
import subprocess

from pydantic_ai import Agent, CallDeferred
from scripted import pydantic_model  # Put your own model in its place.

from countersign import Client
from countersign.adapters.asking import Asking
from countersign.adapters.pydantic_ai import deferred_tools

asking = Asking(Client(), agent="pydantic", session="deploy-1")
agent = Agent(pydantic_model(), capabilities=[deferred_tools(asking)])


@agent.tool_plain(requires_approval=True)
def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


@agent.tool_plain
def ask_user(question: str, options: list[str]) -> str:
    """Asks the user."""
    raise CallDeferred(kind="question")


async def main() -> None:
    print((await agent.run("deploy")).output)


asyncio.run(main())
