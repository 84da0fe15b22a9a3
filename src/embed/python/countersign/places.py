"""The default places of files, as the program `countersign` finds them: the XDG folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import SetUp

_NAME = "countersign"


@dataclass(frozen=True)
class Places:
    """The folders of this user."""

    home: Path
    config: Path
    state: Path
    runtime: Path | None

    @classmethod
    def of_this_user(cls, env: Mapping[str, str] = os.environ) -> Places:
        """Reads the folders from the environment."""
        try:
            home = Path(env["HOME"]) if env.get("HOME") else Path.home()
        except RuntimeError:
            raise SetUp("there is no home folder") from None

        def folder(variable: str) -> Path | None:
            # The XDG specification has relative paths ignored.
            named = env.get(variable, "")
            return Path(named) if os.path.isabs(named) else None

        runtime = folder("XDG_RUNTIME_DIR")
        return cls(
            home=home,
            config=(folder("XDG_CONFIG_HOME") or home / ".config") / _NAME,
            state=(folder("XDG_STATE_HOME") or home / ".local/state") / _NAME,
            runtime=runtime / _NAME if runtime else None,
        )

    def resolve(self, base: Path, text: str) -> Path:
        """Resolves a path in a config: `~/` is the home folder; others start at `base`."""
        return self.home / text[2:] if text.startswith("~/") else base / text
