"""An agent of OpenAI's SDK whose commands people approve. Run it again after it was killed."""

import asyncio
import subprocess
from pathlib import Path

from agents import Agent, RunConfig, function_tool
from scripted import OpenAIModel  # Put your own model in its place.

from countersign import Client
from countersign.adapters import openai_agents
from countersign.adapters.asking import Asking

SAVED = Path("agent.json")


@function_tool(needs_approval=True)
def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


async def main() -> None:
    agent = Agent(name="deployer", model=OpenAIModel(), tools=[shell_exec])
    asking = Asking(Client(), agent="openai", session="deploy-1")
    start = "deploy"
    if SAVED.exists():
        start = await openai_agents.load(agent, SAVED.read_text())
    config = RunConfig(tracing_disabled=True)
    result = await openai_agents.run(agent, start, asking, SAVED.write_text, run_config=config)
    SAVED.unlink(missing_ok=True)
    print(result.final_output)


asyncio.run(main())
