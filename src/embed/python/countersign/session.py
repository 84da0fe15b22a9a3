"""The key of this installation, and the secrets of its sessions.

A grant for a session covers the calls of every process with the session's secret. It is derived
from a key in a file of this user, as the program `countersign` does it, so both have the same one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from .places import Places


def secret(agent: str, session: str, places: Places) -> str | None:
    """The secret of a session; `None` if no key can be stored."""
    try:
        key = _key(places.state / "client.key")
    except (OSError, UnicodeDecodeError):
        # The session's grants then cover every caller that has no secret either.
        return None
    return derived(key, agent, session)


def derived(key: str, agent: str, session: str) -> str:
    """The secret that belongs to this key."""
    # The lengths (in bytes) come first, so that no two pairs of names give the same text.
    about = f"session {len(agent.encode())} {len(session.encode())} {agent}{session}"
    mac = hmac.new(key.encode(), about.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def _key(file: Path) -> str:
    """Reads the key, and creates it on first use."""
    try:
        return _read(file)
    except FileNotFoundError:
        pass
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(secrets.token_urlsafe(32))
        # Linked rather than renamed: if two processes create it at once, the second one reads the
        # first one's key.
        os.link(made, file)
    except FileExistsError:
        pass
    finally:
        os.unlink(made)
    return _read(file)


def _read(file: Path) -> str:
    key = file.read_text().strip()
    if len(key) < 32:
        # A damaged key is not replaced: other processes may still use the old one.
        raise OSError(f"{file} holds no key")
    return key
