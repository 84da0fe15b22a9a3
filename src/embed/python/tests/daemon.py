"""The real daemon in tests: started, killed with -9, started again; and a person who answers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from countersign import Client, ClientSettings

AGENT = "agent-token-of-the-tests"
APPROVER = "approver-token-of-the-tests"

PROGRAM = os.environ.get("COUNTERSIGN_BIN") or shutil.which("countersign")


class Daemon:
    """A daemon in a folder of its own. Everything asks, unless a rule says otherwise."""

    def __init__(self, config: str = "") -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.config = self.folder / "countersign.toml"
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self._write(config, "127.0.0.1:0")
        self._more = config
        self.start()

    def _write(self, config: str, listen: str) -> None:
        self.config.touch(0o600)
        self.config.write_text(
            f'{config}\n[daemon]\nsocket = "{self.folder}/d.sock"\nlisten = "{listen}"\n'
            f'state_dir = "{self.folder}/state"\nagent_token = "{AGENT}"\n'
            f'approver_token = "{APPROVER}"\n[store]\nurl = "sqlite:{self.folder}/store.db"\n'
        )
        rules = self.folder / "permissions.jsonc"
        rules.write_text(
            '{"*": "ask", "shell_exec": {"*": "ask", "true": "allow", "shutdown *": "deny"}}'
        )

    def start(self) -> None:
        """Starts it and waits until it is ready."""
        env = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "RUST_LOG": "warn"}
        assert PROGRAM is not None
        command = [PROGRAM, "--config", str(self.config), "serve"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
        )
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        assert ready.startswith("ready http://"), ready
        self.url = ready.removeprefix("ready ").split("/?")[0]
        # The same port after a restart.
        self._write(self._more, self.url.removeprefix("http://"))

    def kill(self) -> None:
        """Ends it without a chance to say goodbye."""
        assert self._process is not None and self._process.stdout is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.kill()
        self._folder.cleanup()

    def timeout(self, length: str) -> None:
        """How long people have, from the next start."""
        self._more = f'[policy]\ntimeout = "{length}"'
        self._write(self._more, self.url.removeprefix("http://"))

    def env(self) -> dict[str, str]:
        """The environment in which a program finds this daemon."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERSIGN__")}
        return {**inherited, "HOME": str(self.folder), "COUNTERSIGN_CONFIG": str(self.config)}

    def client(self, *, outage: float = 20.0) -> Client:
        """A client over the socket."""
        return Client(ClientSettings.load(self.config, self.env()), outage=outage)

    def http_client(self, token: str = AGENT) -> Client:
        """A client over HTTP, which proves its token."""
        env = {
            **self.env(),
            "COUNTERSIGN__CLIENT__URL": self.url,
            "COUNTERSIGN__CLIENT__TOKEN": token,
        }
        return Client(ClientSettings.load(self.config, env))

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """A request of the approver."""

        def send() -> Any:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Authorization": f"Bearer {APPROVER}", "Content-Type": "application/json"}
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=15) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None

        return await asyncio.to_thread(send)

    async def opened(self) -> dict[str, Any]:
        """The open ask, once there is one."""
        for _ in range(600):
            asks = (await self.request("GET", "/v1/asks"))["asks"]
            if asks:
                return asks[0]
            await asyncio.sleep(0.05)
        raise AssertionError("nothing was asked")

    async def answer(self, decision: str, **more: Any) -> dict[str, Any]:
        """Answers the open ask as a person would, and returns it."""
        ask = await self.opened()
        path = f"/v1/asks/{ask['id']}/answer"
        reply = await self.request("POST", path, {"decision": decision, **more})
        if decision == "edit":
            body = {"decision": "edit", "digest": reply["edit"]["digest"]}
            reply = await self.request("POST", path, body)
        assert reply["applied"], reply
        return ask

    async def state(self, ask: str) -> str:
        """The state of an ask."""
        return (await self.request("GET", f"/v1/asks/{ask}"))["state"]

    async def closed(self, ask: str) -> str:
        """The state of an ask, once it is closed."""
        return (await self.request("GET", f"/v1/asks/{ask}?wait=30"))["state"]
