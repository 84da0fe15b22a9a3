"""Sends one request to one of the daemons, and returns its reply or raises an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .connection import ApiRequest, Connection, RawReply
from .errors import (
    CountersignError,
    Lost,
    Refused,
    Rejected,
    SetUp,
    TooMuch,
    Unreachable,
    Unreadable,
)
from .settings import ClientSettings


class Transport:
    """The connections to the daemons."""

    def __init__(self, settings: ClientSettings, connect_timeout: float) -> None:
        if not settings.servers:
            raise SetUp("[client] url names no daemon")
        self._connections = [
            Connection(server, settings, connect_timeout) for server in settings.servers
        ]
        # The index of the connection that worked last.
        self._current = 0

    async def send(
        self,
        method: str,
        path: Sequence[str],
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Any = None,
        timeout: float,
    ) -> dict[str, Any]:
        """The object that the daemon replies."""
        try:
            # No lone surrogate and no NaN reaches the daemon, where they would be an error.
            text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise SetUp(f"the call cannot be sent as JSON: {error}") from None
        request = ApiRequest(method, path, timeout, query, None if body is None else text)
        reply = await self._exchange(request, credentials=True)
        if reply.status // 100 != 2:
            raise self._refusal(reply)
        return self._object(reply)

    async def look(self, path: str, timeout: float) -> dict[str, Any]:
        """Reads a status route, whether its status code is good or not."""
        request = ApiRequest("GET", (path,), timeout)
        return self._object(await self._exchange(request, credentials=False))

    def unreadable(self, why: str) -> Unreadable:
        """The error of a reply that cannot be understood."""
        return Unreadable(self._server(), why)

    async def _exchange(self, request: ApiRequest, *, credentials: bool) -> RawReply:
        # Another daemon is tried only if no connection could be made: one that received the
        # request may have acted on it.
        first, failed = self._current, None
        for turn in range(first, first + len(self._connections)):
            index = turn % len(self._connections)
            connection = self._connections[index]
            try:
                exchange = connection.authorized if credentials else connection.plain
                reply = await exchange(request)
            except Unreachable as error:
                failed = failed or error
            except Lost:
                self._next_after(index)
                raise
            else:
                self._current = index
                return reply
        raise failed or SetUp("[client] url names no daemon")

    def _refusal(self, reply: RawReply) -> CountersignError:
        sentence = _sentence(reply)
        if reply.status in (401, 403):
            return Refused(sentence)
        if reply.status in (502, 503, 504):
            # A daemon that is stopping, or a proxy in front of one that is starting.
            error = Lost(self._server(), sentence)
            self._next_after(self._current)
            return error
        return TooMuch(sentence) if reply.status == 429 else Rejected(sentence)

    def _object(self, reply: RawReply) -> dict[str, Any]:
        try:
            read = json.loads(reply.body)
        # A reply that is nested too deeply overflows the parser.
        except (ValueError, RecursionError) as error:
            raise self.unreadable(str(error)) from None
        if not isinstance(read, dict):
            raise self.unreadable("it is no object")
        return read

    def _next_after(self, index: int) -> None:
        self._current = (index + 1) % len(self._connections)

    def _server(self) -> str:
        return str(self._connections[self._current].server)


def _sentence(reply: RawReply) -> str:
    try:
        sentence = json.loads(reply.body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        sentence = None
    return sentence if isinstance(sentence, str) else f"the daemon answered {reply.status}"
