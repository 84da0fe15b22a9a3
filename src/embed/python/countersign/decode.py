"""Interprets the API's replies, so that only a plain "allow" approves a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .call import Accepts, Call
from .decision import (
    Answered,
    Approved,
    By,
    ByAnswer,
    ByRule,
    Cancelled,
    Decision,
    Denied,
    Edited,
    Ending,
    Expired,
    StillOpen,
)

_BY: dict[str, tuple[str, ...]] = {
    "person": ("platform", "id", "name"),
    "policy": ("grant",),
    "timeout": (),
    "no_approver": (),
    "caller": (),
}


class Odd(Exception):
    """Why a reply cannot be understood."""


def submitted(reply: Mapping[str, Any], call: Call) -> Decision | StillOpen:
    """The reply to `POST /v1/calls`."""
    verdict, state = _text(reply, "verdict"), _optional(reply, "state", str)
    ask = _optional(reply, "ask", str)
    if verdict == "ask":
        if state not in (None, "open"):
            raise Odd("a closed ask whose verdict is to ask")
        if ask is None:
            raise Odd("an ask without an id")
        return StillOpen(ask)
    if state is None:
        return _checked(_decision(reply, ByRule(_optional(reply, "rule", str))), call)
    decided = _closed(reply, ask, state)
    if decided is None:
        raise Odd("an open ask that is decided")
    return _checked(decided, call)


def asked(view: Mapping[str, Any], call: Call) -> Decision | StillOpen:
    """The reply to `GET /v1/asks/ID`."""
    ask = _text(view, "id")
    decided = _closed(view, ask, _text(view, "state"))
    return StillOpen(ask) if decided is None else _checked(decided, call)


def _closed(reply: Mapping[str, Any], ask: str | None, state: str) -> Decision | None:
    if state == "open":
        return None
    ask = ask or ""
    if state == "answered":
        return _decision(reply, _by_answer(reply, ask))
    if state == "expired":
        return _decision(reply, Expired(ask))
    if state == "cancelled":
        return _decision(reply, Cancelled(ask))
    raise Odd(f"an ask in the unknown state {state!r}")


def _decision(reply: Mapping[str, Any], ending: Ending) -> Decision:
    """The decision of a closed ask or of a rule."""
    verdict = _text(reply, "verdict")
    reason = _optional(reply, "reason", str) or ""
    message = _optional(reply, "message", str)
    answer = reply.get("answer") if isinstance(ending, ByAnswer) else None
    answers = answer.get("answers") if isinstance(answer, dict) else None
    updated = answer.get("updated_input") if isinstance(answer, dict) else None
    # FAIL-CLOSED: a reply that contradicts itself is an error: no field of it can be trusted.
    if verdict == "allow":
        if isinstance(ending, Cancelled):
            raise Odd("a cancelled ask that is approved")
        if answers is not None:
            raise Odd("an approval that carries answers to questions")
        if updated is not None:
            raise Odd("an approval that carries other arguments")
        return Approved(reason, ending, message)
    if verdict == "deny":
        return Denied(reason, ending, message)
    if verdict == "answered":
        return Answered(reason, ending, message, _answers(answers))
    if verdict == "edited":
        if updated is None:
            raise Odd("a changed call without its arguments")
        return Edited(reason, ending, message, updated)
    raise Odd(f"the unknown verdict {verdict!r}")


def _checked(decision: Decision, call: Call) -> Decision:
    """Checks that the decision fits what was asked."""
    # FAIL-CLOSED: answers to questions never let a call run, and an approval never answers one.
    if isinstance(decision, Answered) and not call.questions:
        raise Odd("answers, though nothing was asked")
    if isinstance(decision, Approved) and call.questions:
        raise Odd("an approval, though a question was asked")
    if isinstance(decision, Edited):
        if Accepts.UPDATED_INPUT not in call.accepts:
            raise Odd("a changed call, though its caller accepts none")
        if call.questions:
            raise Odd("a changed call, though a question was asked")
    return decision


def _by_answer(reply: Mapping[str, Any], ask: str) -> ByAnswer:
    answer = reply.get("answer")
    if not isinstance(answer, dict):
        raise Odd("an answered ask without answer")
    if _text(answer, "decision") not in ("approve", "answer", "edit", "deny"):
        raise Odd("an answer of an unknown kind")
    return ByAnswer(
        ask=ask,
        by=_by(answer.get("by")),
        at=_text(answer, "at"),
        scope=_optional(answer, "scope", str),
        note=_optional(answer, "reason", str),
        stop=_optional(answer, "stop", bool) or False,
        explain=_optional(answer, "explain", bool) or False,
        updated_digest=_optional(answer, "updated_digest", str),
    )


def _by(by: Any) -> By:
    kind = by.get("kind") if isinstance(by, dict) else None
    if not isinstance(kind, str) or kind not in _BY:
        raise Odd("an answer of nobody")
    return By(kind, **{name: _text(by, name) for name in _BY[kind]})  # type: ignore[arg-type]


def _answers(answers: Any) -> dict[str, str | list[str]]:
    if not isinstance(answers, dict):
        raise Odd("an answered question without its answers")
    for answer in answers.values():
        labels = answer if isinstance(answer, list) else [answer]
        if not all(isinstance(label, str) for label in labels):
            raise Odd("an answer that is no text")
    return answers


def _text(reply: Mapping[str, Any], key: str) -> str:
    value = reply.get(key)
    if not isinstance(value, str):
        raise Odd(f"`{key}` is missing or no text")
    return value


def _optional(reply: Mapping[str, Any], key: str, kind: type) -> Any:
    value = reply.get(key)
    if value is not None and not isinstance(value, kind):
        raise Odd(f"`{key}` is no {kind.__name__}")
    return value
