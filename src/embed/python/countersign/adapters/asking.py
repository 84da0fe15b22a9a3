"""What all adapters share: who asks, and how long people have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..call import Accepts, Call, Question
from ..client import Client
from ..decision import Answered, Decision, Denied, StillOpen

_T = TypeVar("_T")


@dataclass(frozen=True)
class Asking:
    """Who asks: the agent's name, and one conversation of it."""

    client: Client
    agent: str
    session: str
    expires_in_s: int | None = None

    def call(
        self, tool: str, args: Any, key: str, accepts: Sequence[Accepts] = (), **more: Any
    ) -> Call:
        """A call of this agent."""
        return Call(
            agent=self.agent,
            session=self.session,
            tool=tool,
            args=args,
            key=key,
            accepts=accepts,
            expires_in_s=self.expires_in_s,
            **more,
        )

    async def kept(self, call: Call) -> Decision:
        """Waits for a call that stays open when this process ends; its key finds it again."""
        return _closed(await self.client.wait(call))

    async def question(self, question: Question, key: str) -> Answered | Denied:
        """Asks a person; the question stays open when this process ends."""
        call = self.call("ask_user", {}, key, questions=[question])
        decision = await self.kept(call)
        if isinstance(decision, Answered | Denied):
            return decision
        raise AssertionError("the client lets no decision answer a question")


def _closed(decision: Decision | StillOpen) -> Decision:
    if isinstance(decision, StillOpen):
        raise AssertionError("a wait without an end ends with a decision")
    return decision


async def together(works: Iterable[Awaitable[_T]]) -> list[_T]:
    """Waits for all, so that people see all cards at once. The first error ends the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
