"""One HTTP request to one daemon, over its unix socket, http or https."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urlencode

from .errors import Lost, Refused, SetUp, Unreachable, Unreadable
from .proof import REPLY, SCHEME, ProvenRequest
from .settings import ClientSettings, HttpServer, Server, UnixServer
from .timeouts import within

_NONCE_TIMEOUT = 10.0
_LARGEST_REPLY = 64 << 20


@dataclass(frozen=True)
class ApiRequest:
    """One request."""

    method: str
    path: Sequence[str]
    timeout: float
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None


@dataclass(frozen=True)
class RawReply:
    """A status, a text and what proves them."""

    status: int
    body: bytes
    proof: str | None


@dataclass(frozen=True)
class Connection:
    """The way to one daemon. Each request is a connection of its own."""

    server: Server
    settings: ClientSettings
    connect_timeout: float

    async def authorized(self, request: ApiRequest) -> RawReply:
        """Sends a request with the agent's token where the server wants one."""
        # SECURITY: only TLS authenticates the server. Over plain http the token is proved without
        # being sent, and the reply needs a proof too: a program that took the place of a stopped
        # daemon learns nothing and is not believed. The socket's peer is this user.
        token = self.settings.token
        if isinstance(self.server, UnixServer):
            return await self.plain(request)
        if token is None and self.server.url.scheme == "http":
            raise Refused(f"{self.server} wants a token; set [client] token")
        if token is None:
            return await self.plain(request)
        if self.server.url.scheme == "https":
            return await self._send(request, f"Bearer {token}")
        return await self._proven(request, token)

    async def plain(self, request: ApiRequest) -> RawReply:
        """Sends a request without credentials."""
        return await self._send(request, None)

    async def _proven(self, request: ApiRequest, token: str) -> RawReply:
        reply = await self.plain(ApiRequest("GET", ("v1", "nonce"), _NONCE_TIMEOUT))
        if reply.status >= 500:
            return reply
        about = ProvenRequest(
            nonce=self._nonce(reply),
            method=request.method,
            target=self._target(request),
            body=request.body or b"",
        )
        reply = await self._send(request, f"{SCHEME}{about.nonce}:{about.mask(token)}")
        if reply.proof == about.reply(token, reply.status, reply.body):
            return reply
        # A refusal has no proof if no known token fitted. It grants nothing, so it is accepted.
        if reply.status == 401 or reply.status >= 500:
            return reply
        raise self._stranger("its reply is not proved")

    def _nonce(self, reply: RawReply) -> str:
        try:
            nonce = json.loads(reply.body)["nonce"]
        except (ValueError, KeyError, TypeError):
            nonce = None
        # It becomes part of a header and of the lines under the MAC: no line breaks.
        plain = isinstance(nonce, str) and re.fullmatch(r"[A-Za-z0-9._-]{16,200}", nonce)
        if reply.status // 100 != 2 or not plain:
            raise self._stranger("it gives no nonce to show the token with")
        return str(nonce)

    def _stranger(self, why: str) -> Unreadable:
        why = f"{why}; it may be another program in the daemon's place"
        return Unreadable(str(self.server), why)

    def _target(self, request: ApiRequest) -> str:
        """Ids come from people and agents: each is one path segment, with any `/` escaped."""
        base = self.server.url.path.rstrip("/") if isinstance(self.server, HttpServer) else ""
        path = base + "".join(f"/{quote(part, safe='')}" for part in request.path)
        return f"{path}?{urlencode(request.query)}" if request.query else path

    async def _send(self, request: ApiRequest, authorization: str | None) -> RawReply:
        try:
            opened = within(self.connect_timeout, self._open(), lambda late: late[1].close())
            reader, writer = await opened
        except (OSError, asyncio.TimeoutError) as error:
            raise Unreachable(str(self.server), str(error) or "it does not answer") from None
        try:
            exchange = self._exchange(reader, writer, self._head(request, authorization), request)
            return await within(request.timeout, exchange)
        except (OSError, EOFError, http.client.HTTPException, asyncio.TimeoutError) as error:
            why = str(error) or "it does not answer in time"
            raise Lost(str(self.server), why) from None
        finally:
            # The daemon learns at once that its caller is gone, also where a task was cancelled.
            writer.transport.abort()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.server, UnixServer):
            return await asyncio.open_unix_connection(str(self.server.path))
        url = self.server.url
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 80)
        tls = self._tls if secure else None
        return await asyncio.open_connection(url.hostname, port, ssl=tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        file = self.settings.ca_file
        if file is not None:
            try:
                context.load_verify_locations(file)
            except (OSError, ssl.SSLError) as error:
                raise SetUp(f"[client] ca_file {file}: {error}") from None
        return context

    def _head(self, request: ApiRequest, authorization: str | None) -> bytes:
        host = self.server.url.netloc if isinstance(self.server, HttpServer) else "localhost"
        lines = [f"{request.method} {self._target(request)} HTTP/1.1", f"Host: {host}"]
        # One request a connection: its end is the end of the reply.
        lines += ["Connection: close", "Accept: application/json"]
        if authorization is not None:
            if not authorization.isascii() or not authorization.isprintable():
                raise SetUp("the token holds characters that no header can carry")
            lines.append(f"Authorization: {authorization}")
        if request.body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(request.body)}"]
        return "\r\n".join([*lines, "", ""]).encode("ascii")

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        head: bytes,
        request: ApiRequest,
    ) -> RawReply:
        writer.write(head + (request.body or b""))
        await writer.drain()
        raw = bytearray()
        while chunk := await reader.read(1 << 16):
            raw += chunk
            if len(raw) > _LARGEST_REPLY:
                raise EOFError("its reply is too large")
        # A head that was cut off would be read as a whole one.
        if b"\r\n\r\n" not in raw:
            raise EOFError("it closed the connection without a reply")
        # The standard library reads heads and chunks; a reply that was cut off is an error there.
        reply = http.client.HTTPResponse(_Received(bytes(raw)), method=request.method)  # type: ignore[arg-type]
        reply.begin()
        return RawReply(reply.status, reply.read(), reply.getheader(REPLY))


class _Received:
    """What `HTTPResponse` takes for a socket: bytes that have all arrived."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._raw)
