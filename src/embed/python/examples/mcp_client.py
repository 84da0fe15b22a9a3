"""An MCP client whose tool calls people approve, and whose server's questions they answer."""

import asyncio
import subprocess
import sys

from mcp import Client as McpClient
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

from countersign import Client
from countersign.adapters.asking import Asking
from countersign.adapters.mcp import ApprovedTools, elicitation

# A server in the same process; a real one is an address or a command.
server = MCPServer("builder")


class Region(BaseModel):
    region: str


@server.tool()
def shell_exec(command: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout


@server.tool()
async def deploy(context: Context) -> str:
    """Deploys where the user says."""
    answer = await context.elicit("Where to?", Region)
    return f"to {answer.data.region}" if answer.action == "accept" else answer.action


async def main(name: str) -> None:
    asking = Asking(Client(), agent="mcp", session="deploy-1")
    args = {"command": "make deploy"} if name == "shell_exec" else {}
    callback = elicitation(asking)
    async with McpClient(server, elicitation_callback=callback, mode="legacy") as client:
        result = await ApprovedTools(client, "builder", asking).call_tool(name, args)
    print("refused:" if result.is_error else "done:", result.content[0].text)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "shell_exec"))
