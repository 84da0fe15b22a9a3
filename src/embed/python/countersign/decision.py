"""Decisions on a call. Match on the type: only `Approved` and `Edited` let anything run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias


@dataclass(frozen=True)
class By:
    """Who decided. Only `kind="person"` is somebody."""

    kind: Literal["person", "policy", "timeout", "no_approver", "caller"]
    name: str | None = None
    platform: str | None = None
    id: str | None = None
    grant: str | None = None


@dataclass(frozen=True)
class ByRule:
    """Policy decided at once and nobody was asked."""

    rule: str | None


@dataclass(frozen=True)
class ByAnswer:
    """A person answered, or a new grant covered the call."""

    ask: str
    by: By
    at: str
    scope: str | None = None
    note: str | None = None
    """The approver's own words for the agent."""
    stop: bool = False
    """Whether the agent ends its turn."""
    explain: bool = False
    """Whether the agent explains itself and does not try again."""
    updated_digest: str | None = None


@dataclass(frozen=True)
class Expired:
    """Nobody answered in time."""

    ask: str


@dataclass(frozen=True)
class Cancelled:
    """The ask was cancelled."""

    ask: str


Ending: TypeAlias = ByRule | ByAnswer | Expired | Cancelled


@dataclass(frozen=True)
class _Decided:
    reason: str
    """Who decided and why, as one sentence that starts in lower case."""
    ending: Ending
    message: str | None
    """The text for the agent's model, where its system has one."""

    def __bool__(self) -> NoReturn:
        # SECURITY: every object is true in Python, so `if decision:` would run what was denied.
        raise TypeError("a decision is no bool; match on its type")

    @property
    def note(self) -> str | None:
        """The approver's own words for the agent."""
        return self.ending.note if isinstance(self.ending, ByAnswer) else None


@dataclass(frozen=True)
class Approved(_Decided):
    """The call may run with the arguments that were submitted."""


@dataclass(frozen=True)
class Edited(_Decided):
    """The call may run with these arguments instead, and only with these."""

    args: Any


@dataclass(frozen=True)
class Answered(_Decided):
    """A question has its answers, by the question's text. Nothing may run because of that."""

    answers: Mapping[str, str | Sequence[str]]

    def text(self, question: str) -> str:
        """The answer to one question as one text."""
        answer = self.answers.get(question, "")
        return answer if isinstance(answer, str) else ", ".join(answer)


@dataclass(frozen=True)
class Denied(_Decided):
    """The call may not run; or the questions are not answered."""

    @property
    def stop(self) -> bool:
        """Whether the agent ends its turn."""
        return isinstance(self.ending, ByAnswer) and self.ending.stop

    @property
    def text_for_model(self) -> str:
        """Why the call did not run, for the agent's model."""
        if self.message is not None:
            return self.message
        rule = self.ending.rule if isinstance(self.ending, ByRule) else None
        if rule is not None and rule not in self.reason:
            return f"{self.reason} ({rule})"
        return self.reason or "denied"


Decision: TypeAlias = Approved | Edited | Answered | Denied


@dataclass(frozen=True)
class StillOpen:
    """Nobody has decided yet. The ask stays open; its key finds it again."""

    ask: str

    def __bool__(self) -> NoReturn:
        raise TypeError("an open ask is no bool; match on its type")
