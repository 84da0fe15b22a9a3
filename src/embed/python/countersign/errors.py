"""Errors of the client. None of them ever permits a call."""

from __future__ import annotations


class CountersignError(Exception):
    """The daemon gave no decision. Its text is a sentence for people."""


class Unreachable(CountersignError):
    """No connection could be made, so the daemon has not received the request."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(
            f"no countersign daemon at {server}: {why}; start one with `countersign serve`"
        )
        self.server = server
        self.why = why


class Lost(CountersignError):
    """The connection was lost after the request was sent."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"no answer from the daemon at {server}: {why}")
        self.server = server
        self.why = why


class Refused(CountersignError):
    """The token is missing, wrong, or insufficient."""


class Rejected(CountersignError):
    """The daemon refused the request."""


class TooMuch(CountersignError):
    """The agent or session is over a limit of the daemon, so nobody was asked."""


class Unreadable(CountersignError):
    """The reply cannot be understood; it never counts as an approval."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(
            f"the daemon at {server} gave an answer that this version cannot read: {why}"
        )
        self.server = server
        self.why = why


class SetUp(CountersignError):
    """The client could not be set up, or the call cannot be sent."""
