"""A tool call, or a question, as an agent submits it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .wire import SubmitRequest


class Accepts(Enum):
    """An answer that a caller can carry out beside a plain yes and no."""

    STOP = "stop"
    """A denial that ends the agent's turn."""
    UPDATED_INPUT = "updated_input"
    """An approval with other arguments: the decision is `Edited`."""


@dataclass(frozen=True)
class Choice:
    """One option of a question."""

    label: str
    description: str | None = None
    preview: str | None = None


@dataclass(frozen=True)
class Question:
    """One question to a person. Its text is the key of its answer."""

    question: str
    options: Sequence[Choice] = ()
    header: str | None = None
    multi_select: bool = False


def fresh_key() -> str:
    """A random idempotency key."""
    return secrets.token_urlsafe(16)


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool.

    The same `key` of one agent and session is the same ask: keep the key (a framework's own id of
    the tool call serves well), and a restart of this program finds the ask, or its answer, again.
    """

    agent: str
    session: str
    tool: str
    args: Any = field(default_factory=dict)
    key: str = field(default_factory=fresh_key)
    cwd: str | None = field(default_factory=_cwd)
    host: str | None = field(default_factory=lambda: socket.gethostname() or None)
    reason: str | None = None
    description: str | None = None
    questions: Sequence[Question] = ()
    accepts: Sequence[Accepts] = ()
    expires_in_s: int | None = None
    meta: Any = None
    worker: str | None = None
    agent_mode: str | None = None
    profile: Mapping[str, Any] = field(default_factory=dict)
    """What only the profiles of other systems read, such as `category` and `tier`."""

    @classmethod
    def asking(cls, agent: str, session: str, *questions: Question, key: str | None = None) -> Call:
        """A call that only asks a person something. Its decision is `Answered` or `Denied`."""
        # An empty text is a key that the daemon refuses, rather than one that is left out.
        key = fresh_key() if key is None else key
        return cls(agent=agent, session=session, tool="ask_user", questions=questions, key=key)

    def request(self, session_secret: str | None) -> SubmitRequest:
        """The body of `POST /v1/calls`."""
        body: dict[str, Any] = dict(self.profile)
        body.update(agent=self.agent, session=self.session, tool=self.tool, args=self.args)
        optional = {
            "key": self.key,
            "cwd": self.cwd,
            "host": self.host,
            "worker": self.worker,
            "agent_mode": self.agent_mode,
            "reason": self.reason,
            "description": self.description,
            "expires_in_s": self.expires_in_s,
            "meta": self.meta,
            "session_secret": session_secret,
        }
        body.update((name, value) for name, value in optional.items() if value is not None)
        if self.questions:
            body["questions"] = [_question(question) for question in self.questions]
        if self.accepts:
            body["accepts"] = [accepted.value for accepted in self.accepts]
        return body  # type: ignore[return-value]


def _question(question: Question) -> dict[str, Any]:
    options = [
        {name: value for name, value in vars(option).items() if value is not None}
        for option in question.options
    ]
    body: dict[str, Any] = {"question": question.question, "options": options}
    if question.header is not None:
        body["header"] = question.header
    if question.multi_select:
        body["multiSelect"] = True
    return body
