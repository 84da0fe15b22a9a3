"""A server in the daemon's place that replies as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countersign import Call, Client, ClientSettings
from countersign.places import Places
from countersign.settings import UnixServer


@dataclass
class Request:
    """What the server received."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its client has closed the connection."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]] | bytes | None
"""Status and JSON (and headers), or raw bytes, or nothing at all."""

Handler = Callable[[Request], Awaitable[Reply] | Reply]


class FakeDaemon:
    """Serves each request by the handler, and remembers them all."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[Request] = []

    @property
    def targets(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            method, target, _ = first.split(" ")
            headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            request = Request(method, target, headers, body)
            self.requests.append(request)
            watching = asyncio.ensure_future(self._watch(reader, request))
            reply = self.handler(request)
            if isinstance(reply, Awaitable):
                reply = await reply
            if reply is not None:
                writer.write(reply if isinstance(reply, bytes) else _http(*reply))
                await writer.drain()
            watching.cancel()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader, request: Request) -> None:
        with suppress(ConnectionError):
            await reader.read()
        request.gone.set()


def _http(status: int, body: Any, headers: dict[str, str] | None = None) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(text)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + text


@asynccontextmanager
async def daemon(folder: Path, handler: Handler, outage: float = 5.0):
    """A fake daemon on a unix socket, and its client."""
    fake = FakeDaemon(handler)
    server = await asyncio.start_unix_server(fake.serve, folder / "d.sock")
    try:
        yield fake, Client(settings(folder), outage=outage)
    finally:
        server.close()


def settings(folder: Path) -> ClientSettings:
    places = Places(home=folder, config=folder, state=folder / "state", runtime=None)
    return ClientSettings(servers=(UnixServer(folder / "d.sock"),), places=places)


def call(**more: Any) -> Call:
    """A call with nothing of this machine in it."""
    given: dict[str, Any] = {"agent": "a", "session": "s", "tool": "shell_exec", "key": "k1"}
    return Call(**{**given, "args": {"command": "make"}, "cwd": None, "host": None, **more})


PERSON = {"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"}


def answered(verdict: str, decision: str, **more: Any) -> dict[str, Any]:
    """An ask that a person answered."""
    answer = {"decision": decision, "by": PERSON, "at": "2026-11-23T00:00:00Z", **more}
    return {
        "id": "a1",
        "ask": "a1",
        "state": "answered",
        "verdict": verdict,
        "reason": "by Ana",
        "answer": answer,
    }


OPEN = {"verdict": "ask", "ask": "a1", "id": "a1", "state": "open"}
