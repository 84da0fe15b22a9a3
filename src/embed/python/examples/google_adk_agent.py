"""An agent of Google's ADK whose commands people approve. Run it again after it was killed."""

import asyncio
import subprocess

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool, ToolContext
from google.genai.types import Content, Part
from scripted import adk_model  # Put your own model in its place.

from countersign import Client
from countersign.adapters.asking import Asking
from countersign.adapters.google_adk import Approvals

client = Client()


def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


def asking(context: ToolContext) -> Asking:
    return Asking(client, agent="adk", session=context.session.id)


app = App(
    name="deployer",
    root_agent=LlmAgent(
        name="deployer",
        model=adk_model(),
        tools=[FunctionTool(shell_exec, require_confirmation=True)],
    ),
    plugins=[Approvals(asking)],
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main() -> None:
    sessions = SqliteSessionService("agent.db")
    who = {"user_id": "ana", "session_id": "deploy-1"}
    begun = await sessions.get_session(app_name=app.name, **who)
    if begun is not None and begun.events:
        start = {"invocation_id": begun.events[-1].invocation_id}
    else:
        begun = begun or await sessions.create_session(app_name=app.name, **who)
        start = {"new_message": Content(role="user", parts=[Part(text="deploy")])}
    said = ""
    async for event in Runner(app=app, session_service=sessions).run_async(**who, **start):
        said = "".join(part.text or "" for part in event.content.parts) if event.content else said
    await sessions.delete_session(app_name=app.name, **who)
    print(said)


asyncio.run(main())
