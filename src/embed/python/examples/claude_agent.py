"""Claude Code, run by its Agent SDK, whose tool calls people approve."""

import asyncio

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from countersign import Client
from countersign.adapters.asking import Asking
from countersign.adapters.claude_agent import can_use_tool


async def main() -> None:
    asking = Asking(Client(), agent="claude-sdk", session="deploy-1")
    options = ClaudeAgentOptions(can_use_tool=can_use_tool(asking))
    async with ClaudeSDKClient(options) as claude:
        await claude.query("deploy")
        async for message in claude.receive_response():
            if isinstance(message, ResultMessage):
                print(message.result)


asyncio.run(main())
