"""The client of one countersign daemon, or of several that share a store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from . import decode, session
from .call import Call, Question
from .decision import Answered, Decision, Denied, StillOpen
from .errors import CountersignError, Lost, TooMuch, Unreachable
from .settings import ClientSettings
from .timeouts import within
from .transport import Transport
from .wire import AskView, CancelReason, GrantView

_HELD = 55
"""The wait of one request in seconds; longer waits repeat it. The daemon holds it for 60 s."""

_PATIENCE = 10.0
"""The timeout of a request that does not wait for a person."""

_FULL = 5.0
"""The pause before a call is submitted again that a limit of the daemon refused."""

_T = TypeVar("_T")


class Client:
    """Submits calls and waits for their decisions. All errors are `CountersignError`.

    `outage` is the longest absence of the daemon, in seconds, that a wait survives.
    """

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        connect_timeout: float = 5.0,
        outage: float = 120.0,
    ) -> None:
        self._settings = settings or ClientSettings.load()
        self._transport = Transport(self._settings, connect_timeout)
        self._outage = outage

    @classmethod
    def at(cls, *urls: str, token: str | None = None, ca_file: Path | None = None) -> Client:
        """A client of the daemons at these addresses."""
        return cls(ClientSettings.at(*urls, token=token, ca_file=ca_file))

    async def decide(self, call: Call, on_open: Callable[[str], object] | None = None) -> Decision:
        """Submits a call and waits until it is decided, also across restarts of the daemon.

        Who waits here is the ask's caller: when this task is cancelled or this process ends, the
        ask is cancelled and its cards say so. `on_open` receives the id of an ask.
        """
        submitted = await self._submit_in_turn(call, held=1)
        if not isinstance(submitted, StillOpen):
            return submitted
        try:
            if on_open is not None:
                on_open(submitted.ask)
            return await self._decided(call, submitted.ask, held=1)
        except (asyncio.CancelledError, Exception):
            with suppress(CountersignError, asyncio.TimeoutError):
                cancelling = asyncio.ensure_future(self.cancel(submitted.ask))
                # Shielded, so that a second cancellation does not leave the ask open.
                await within(2.0, asyncio.shield(cancelling))
            raise

    async def submit(self, call: Call) -> Decision | StillOpen:
        """Submits a call without waiting. An ask stays open when this process ends."""
        return await self._submit_in_turn(call, held=0)

    async def wait(self, call: Call, at_most: float | None = None) -> Decision | StillOpen:
        """Waits for a call that stays open when this process ends, and submits it if need be.

        The same call with the same key, submitted by whichever process, is the same ask: this is
        how a program that was started again goes on. `StillOpen` comes after `at_most` seconds.
        """
        submitted = await self._submit_in_turn(call, held=0)
        if not isinstance(submitted, StillOpen):
            return submitted
        with suppress(asyncio.TimeoutError):
            return await within(at_most, self._decided(call, submitted.ask, held=0))
        return submitted

    async def question(
        self, agent: str, session: str, *questions: Question, key: str | None = None
    ) -> Answered | Denied:
        """Asks a person, as `decide` does."""
        decision = await self.decide(Call.asking(agent, session, *questions, key=key))
        if isinstance(decision, Answered | Denied):
            return decision
        raise self._transport.unreadable("a decision, though a question was asked")

    async def cancel(self, ask: str, reason: CancelReason = "aborted") -> None:
        """Takes an ask back."""
        await self._post(("v1", "asks", ask, "cancel"), {"reason": reason})

    async def ask(self, ask: str) -> AskView:
        """An ask as it is now."""
        reply = await self._transport.send("GET", ("v1", "asks", ask), timeout=_PATIENCE)
        return cast(AskView, reply)

    async def open_asks(self) -> list[AskView]:
        """The open asks, oldest first."""
        return cast(list[AskView], await self._listed("asks"))

    async def grants(self) -> list[GrantView]:
        """The remembered approvals that may cover calls of agents."""
        return cast(list[GrantView], await self._listed("grants"))

    async def end_session(self, agent: str, session: str) -> None:
        """Ends a session, which cancels its open asks and ends its grants."""
        await self._post(("v1", "sessions", session, "end"), {"agent": agent})

    async def ready(self) -> Mapping[str, Any]:
        """The state of the daemon, its store, its rules and its adapters."""
        return await self._transport.look("readyz", _PATIENCE)

    async def _decided(self, call: Call, ask: str, held: int) -> Decision:
        while True:
            try:
                view = await self._transport.send(
                    "GET",
                    ("v1", "asks", ask),
                    query=[("wait", str(_HELD))],
                    timeout=_HELD + _PATIENCE,
                )
            except (Unreachable, Lost):
                # Submitted again, rather than only asked for: the daemon counts us as its caller
                # once more, and a key that it already knows gives the same ask.
                again = await self._submit_again(call, held)
            else:
                again = self._read(decode.asked, view, call)
            if not isinstance(again, StillOpen):
                return again

    async def _submit_in_turn(self, call: Call, held: int) -> Decision | StillOpen:
        """Submits a call, and waits while a limit of the daemon refuses it."""
        since = time.monotonic()
        while True:
            try:
                return await self._submit(call, held)
            except Lost:
                # It may have delivered the call. Its key makes it safe to submit it again.
                return await self._submit_again(call, held)
            except TooMuch:
                if time.monotonic() - since >= self._outage:
                    raise
                await asyncio.sleep(_FULL)

    async def _submit_again(self, call: Call, held: int) -> Decision | StillOpen:
        since, pause = time.monotonic(), 0.1
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)
            try:
                return await self._submit(call, held)
            except (Unreachable, Lost) as error:
                if time.monotonic() - since >= self._outage:
                    # `Lost`, because the daemon had the call before: an ask may be open.
                    raise Lost(error.server, error.why) from None

    async def _submit(self, call: Call, held: int) -> Decision | StillOpen:
        # Held for a second at most: the id is needed soon, so that an interrupted wait can cancel
        # the ask. Any hold makes us its caller, whose end cancels it.
        secret = session.secret(call.agent, call.session, self._settings.places)
        reply = await self._transport.send(
            "POST",
            ("v1", "calls"),
            query=[("wait", str(held))] if held else [],
            body=call.request(secret),
            timeout=held + _PATIENCE,
        )
        return self._read(decode.submitted, reply, call)

    def _read(
        self, read: Callable[[Mapping[str, Any], Call], _T], reply: Mapping[str, Any], call: Call
    ) -> _T:
        try:
            return read(reply, call)
        except decode.Odd as odd:
            raise self._transport.unreadable(str(odd)) from None

    async def _listed(self, what: Literal["asks", "grants"]) -> list[Any]:
        query: list[tuple[str, str]] = []
        listed: list[Any] = []
        while True:
            page = await self._transport.send("GET", ("v1", what), query=query, timeout=_PATIENCE)
            items, following = page.get(what), page.get("next")
            if not isinstance(items, list):
                raise self._transport.unreadable(f"`{what}` is no list")
            listed += items
            if not isinstance(following, str) or not items:
                return listed
            query = [("after", following)]

    def _post(self, path: tuple[str, ...], body: Any) -> Awaitable[dict[str, Any]]:
        return self._transport.send("POST", path, body=body, timeout=_PATIENCE)
