"""Ask people for approval before an agent acts: the client of the countersign daemon."""

from .call import Accepts, Call, Choice, Question, fresh_key
from .client import Client
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
from .errors import (
    CountersignError,
    Lost,
    Refused,
    Rejected,
    SetUp,
    TooMuch,
    Unreachable,
    Unreadable,
)
from .settings import ClientSettings

__all__ = [
    "Accepts",
    "Answered",
    "Approved",
    "By",
    "ByAnswer",
    "ByRule",
    "Call",
    "Cancelled",
    "Choice",
    "Client",
    "ClientSettings",
    "CountersignError",
    "Decision",
    "Denied",
    "Edited",
    "Ending",
    "Expired",
    "Lost",
    "Question",
    "Refused",
    "Rejected",
    "SetUp",
    "StillOpen",
    "TooMuch",
    "Unreachable",
    "Unreadable",
    "fresh_key",
]
