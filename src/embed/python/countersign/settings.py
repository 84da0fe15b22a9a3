"""The daemons' addresses and the token, found where the program `countersign` finds them."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import SplitResult, urlsplit

from .errors import SetUp
from .places import Places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PREFIX = "COUNTERSIGN__"


@dataclass(frozen=True)
class UnixServer:
    """A daemon's unix socket, as the same user."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True)
class HttpServer:
    """A daemon behind http or https."""

    url: SplitResult

    def __str__(self) -> str:
        return self.url.geturl().rstrip("/")


Server: TypeAlias = UnixServer | HttpServer


@dataclass(frozen=True)
class ClientSettings:
    """The settings of the client."""

    servers: tuple[Server, ...]
    """The daemons, tried in this order; any of them can serve a request."""
    places: Places
    token: str | None = field(default=None, repr=False)
    """The agent token, for a daemon over HTTP."""
    ca_file: Path | None = None
    """A PEM file with an additional certificate authority."""

    @classmethod
    def at(
        cls, *urls: str, token: str | None = None, ca_file: Path | None = None
    ) -> ClientSettings:
        """The settings for daemons at these addresses: `unix:PATH`, `https://…` or `http://…`."""
        places = Places.of_this_user()
        servers = tuple(server(url, places, Path.cwd(), insecure=False) for url in urls)
        return cls(servers=servers, places=places, token=token, ca_file=ca_file)

    @classmethod
    def load(cls, file: Path | None = None, env: Mapping[str, str] = os.environ) -> ClientSettings:
        """Reads `[client]` of `file`, else of `$COUNTERSIGN_CONFIG`, else of the default config.

        `COUNTERSIGN__CLIENT__URL` and the other variables override it.
        """
        places = Places.of_this_user(env)
        named = file or (Path(env["COUNTERSIGN_CONFIG"]) if env.get("COUNTERSIGN_CONFIG") else None)
        path = (named or places.config / "countersign.toml").absolute()
        try:
            root = tomllib.loads(path.read_text())
        except FileNotFoundError:
            # Only the default file may be absent.
            if named is not None:
                raise SetUp(f"the config {path} does not exist") from None
            root, path = {}, places.config / "countersign.toml"
        except (OSError, ValueError) as error:
            raise SetUp(f"the config {path} cannot be read: {error}") from None
        return _read(root, path.parent, places, env)


def server(text: str, places: Places, base: Path, *, insecure: bool) -> Server:
    """The address of one daemon."""
    wanted = f"[client] url must be `unix:PATH` or `https://HOST:PORT`, not `{text}`"
    if text.startswith("unix:"):
        return UnixServer(places.resolve(base, text[5:].removeprefix("//")))
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        raise SetUp(wanted) from None
    if url.scheme not in ("http", "https") or not host or url.username or url.query:
        raise SetUp(wanted)
    # SECURITY: tokens and commands would cross the network in clear text.
    if url.scheme == "http" and not insecure and not _is_loopback(host):
        raise SetUp(
            f"[client] url {text} is plain http to another machine, which anybody on the way can "
            "read and change; use https, or set insecure_http = true in [client]"
        )
    return HttpServer(url)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(
    root: Mapping[str, Any], base: Path, places: Places, env: Mapping[str, str]
) -> ClientSettings:
    client, daemon = _section(root, "client"), _section(root, "daemon")
    for name, value in env.items():
        if not name.startswith(_PREFIX):
            continue
        section, _, key = name.removeprefix(_PREFIX).lower().partition("__")
        table = {"client": client, "daemon": daemon}.get(section)
        if table is None:
            continue
        if (section, key) == ("client", "token_file"):
            try:
                table["token"] = places.resolve(base, value).read_text().rstrip()
            except (OSError, ValueError) as error:
                raise SetUp(f"{name}: {value} cannot be read: {error}") from None
        else:
            # A token such as `123456` stays a text.
            table[key] = value if key == "token" else _toml(value)
    insecure = client.get("insecure_http", False)
    if not isinstance(insecure, bool):
        raise SetUp("[client] insecure_http must be true or false")
    urls = client.get("url", [])
    urls = [urls] if isinstance(urls, str) else urls
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise SetUp("[client] url must be an address or a list of addresses")
    if "url" in client and not urls:
        raise SetUp("[client] url is empty; it names where daemons are")
    servers = tuple(server(url, places, base, insecure=insecure) for url in urls)
    token, ca_file = _text(client, "token"), _text(client, "ca_file")
    return ClientSettings(
        servers=servers or (_default_server(daemon, base, places),),
        places=places,
        token=token.strip() if token else None,
        ca_file=places.resolve(base, ca_file) if ca_file else None,
    )


def _default_server(daemon: Mapping[str, Any], base: Path, places: Places) -> Server:
    """On the daemon's machine; its socket needs no token."""
    socket, state = _text(daemon, "socket", "daemon"), _text(daemon, "state_dir", "daemon")
    if socket:
        return UnixServer(places.resolve(base, socket))
    folder = places.runtime or (places.resolve(base, state) if state else places.state)
    return UnixServer(folder / "countersign.sock")


def _section(root: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = root.get(name, {})
    if not isinstance(table, dict):
        raise SetUp(f"`{name}` must be a section, written as [{name}]")
    return dict(table)


def _text(table: Mapping[str, Any], key: str, section: str = "client") -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise SetUp(f"[{section}] {key} must be a text in quotes")
    return value


def _toml(text: str) -> Any:
    """A variable's value: TOML, or plain text where it is not."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text
