"""An agent of Microsoft's framework whose commands people approve. Run it again after a kill."""

import asyncio
import subprocess
from pathlib import Path

from agent_framework import Agent, tool
from scripted import agent_framework_model  # Put your own model in its place.

from countersign import Client
from countersign.adapters import agent_framework
from countersign.adapters.asking import Asking

SAVED = Path("agent.json")


@tool(approval_mode="always_require")
def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


async def main() -> None:
    agent = Agent(agent_framework_model(), name="deployer", tools=[shell_exec])
    asking = Asking(Client(), agent="agent-framework", session="deploy-1")
    start = agent_framework.load(SAVED.read_text()) if SAVED.exists() else "deploy"
    result = await agent_framework.run(agent, start, asking, SAVED.write_text)
    SAVED.unlink(missing_ok=True)
    print(result.text)


asyncio.run(main())
