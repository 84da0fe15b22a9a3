"""The JSON of the HTTP API. Made by src/embed/wire.py from docs/openapi.json; do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict


class _Choice(TypedDict):
    """One option of a question."""

    # What is answered when it is chosen.
    label: str


class Choice(_Choice, total=False):
    """One option of a question."""

    # What it means.
    description: str | None
    # A longer picture of it.
    preview: str | None


class _Question(TypedDict):
    """One question. The names are those of Claude Code's AskUserQuestion; `text` is taken for
    `question`."""

    # The whole question; the key of its answer.
    question: str


class Question(_Question, total=False):
    """One question. The names are those of Claude Code's AskUserQuestion; `text` is taken for
    `question`."""

    # A short heading.
    header: str | None
    # Whether several options may be chosen.
    multiSelect: bool
    # What to choose from; may be empty where free text is wanted.
    options: list[Choice]


class _Behind(TypedDict):
    """A call of a batch that comes later."""

    # Its tool.
    tool: str


class Behind(_Behind, total=False):
    """A call of a batch that comes later."""

    # What it would execute, or the JSON text of it.
    arguments: Any


Batch: TypeAlias = "int | list[Behind]"
"""The calls of a batch that come after this one."""


Accepts: TypeAlias = Literal["stop", "updated_input"]
"""An answer that a caller can carry out beside a plain yes and no."""


class _BudgetCall(TypedDict):
    """A call of a budget. It is made later with the agent, session, worker and host of the
    budget."""

    # Its tool.
    tool: str


class BudgetCall(_BudgetCall, total=False):
    """A call of a budget. It is made later with the agent, session, worker and host of the
    budget."""

    # Exactly what would be executed.
    args: Any
    # The folder it works in; that of the budget where absent.
    cwd: str | None


class Budget(TypedDict):
    """Calls that an agent asks for ahead."""

    # How long they may run once the budget is approved, in seconds; at most 86400.
    for_s: int
    # The calls, 1 to 20. Each may run once; a call that is to run twice stands here twice.
    calls: list[BudgetCall]


class Appeal(TypedDict):
    """The verdict of a machine, against which a call appeals."""

    # Which machine, for people: `Claude Code's auto mode`.
    against: str
    # Why it blocked the call, in its own words; empty where it came to no verdict.
    reason: str


class ExistingNothing(TypedDict):
    """Nothing: the file is new."""

    kind: Literal["nothing"]


class _ExistingFile(TypedDict):
    """A file, which is replaced."""

    kind: Literal["file"]
    # Its size.
    bytes: int


class ExistingFile(_ExistingFile, total=False):
    """A file, which is replaced."""

    # Its lines, where it is a text that is small enough to be read.
    lines: int | None


Existing: TypeAlias = "ExistingNothing | ExistingFile"
"""What the agent's side found at the path of a file that the call writes whole. People read it
on the card; no rule does."""


class _SubmitRequest(TypedDict):
    """A call that an agent submits."""

    # Who asks, such as `claude-code`.
    agent: str
    # One conversation of it.
    session: str
    # The tool's name, as the agent calls it.
    tool: str


class SubmitRequest(_SubmitRequest, total=False):
    """A call that an agent submits."""

    # The caller's idempotency key: the same key of one agent and session is the same ask.
    key: str | None
    # The process or machine that would run the call.
    worker: str | None
    # The machine's name, as the agent's side tells it.
    host: str | None
    # The folder it works in.
    cwd: str | None
    # Exactly what would be executed.
    args: Any
    # The tool's category, for profiles that rule on it.
    category: str | None
    # The tool's tier, for profiles that rule on it.
    tier: str | None
    # The tool's own wish to be prompted for.
    override: Any
    # The tool's own policy, for profiles that rule on it.
    policy: Any
    # The name of the user's policy for it, where that is not the tool's.
    policyKey: str | None
    # How far the agent's own host trusts the person it works for; `None` where that is its owner.
    requester: str | None
    # The mode that the agent itself is in, such as `plan`. Where it may only read, no rule and no
    # grant lets it do more.
    agent_mode: str | None
    # Why the agent wants it.
    reason: str | None
    # What the agent says it does.
    description: str | None
    # What a person said to the agent last, as the agent's side tells it. People read it on the
    # card; nothing is decided by it.
    person_said: str | None
    # What waits behind this call in the same batch.
    batch_remaining: Batch | None
    # Questions to a person; their answers are the answer.
    questions: list[Question]
    # Short for one question with these options; its text is `description`, or `reason`.
    options: list[Choice]
    # How long a person has, seconds; the policy's timeout where absent.
    expires_in_s: int | None
    # How long its caller waits for the answer at most, seconds: nobody is asked for longer,
    # whatever `expires_in_s` and the policy say.
    waits_s: int | None
    # Answers that the caller can carry out beside a plain yes and no; others are never given.
    accepts: list[Accepts]
    # Handed back unchanged.
    meta: Any
    # What the agent calls itself, where its own token names it. The daemon sets it; a caller
    # cannot.
    claims: str | None
    # Calls that are asked for ahead, to run once each within a time; the tool is `budget` then.
    budget: Budget | None
    # The verdict against which it appeals: a machine that judges calls in a person's place has
    # blocked it. The ask is then whether exactly this call may run anyway, once.
    appeal: Appeal | None
    # Another judge stands behind this one, such as an agent's own: people are asked only where a
    # rule asks, and what no rule denies is left to that judge.
    rules_only: bool
    # What is at the path of a file that it writes whole, as the agent's side tells it.
    existing: Existing | None
    # A random text of 16 to 200 characters, the same for every call of a session: what is granted
    # to the session covers only calls with it.
    session_secret: str | None


CallVerdict: TypeAlias = Literal["allow", "ask", "deny", "edited", "answered"]
"""What becomes of a call."""


AskState: TypeAlias = Literal["open", "answered", "expired", "cancelled"]
"""Whether an ask is open, or how it ended."""


Decision: TypeAlias = Literal["approve", "answer", "edit", "deny"]
"""What an ask came to, as a person says it. There is no default."""


Scope: TypeAlias = "str"
"""What an approval covers: `once`, `session`, `always`, `always_prefix`, `exact`, or a time
such as `10m`."""


class ByPerson(TypedDict):
    """A person."""

    kind: Literal["person"]
    # Where they pressed: the name of a platform, `inbox` or `api`.
    platform: str
    # Their lasting id there.
    id: str
    # For people to read.
    name: str


class ByPolicy(TypedDict):
    """A rule or grant that came to cover the call while it waited."""

    kind: Literal["policy"]
    # The grant, in words.
    grant: str


class ByTimeout(TypedDict):
    """Nobody did in time."""

    kind: Literal["timeout"]


class ByNoApprover(TypedDict):
    """Nobody could: no card reached anyone."""

    kind: Literal["no_approver"]


class ByCaller(TypedDict):
    """The caller cancelled the ask."""

    kind: Literal["caller"]


By: TypeAlias = "ByPerson | ByPolicy | ByTimeout | ByNoApprover | ByCaller"
"""Who decided, so that nobody is told that "the user" said what no user said."""


class OverruledView(TypedDict):
    """An approved call that did not run: a machine of its agent blocked it."""

    # When it was reported, RFC 3339.
    at: str
    # Which machine, such as `Claude Code's auto mode`.
    by: str
    # Why, in its own words.
    reason: str


_AnswerViewKeywords = TypedDict("_AnswerViewKeywords", {"with": "list[By]"}, total=False)


class _AnswerView(TypedDict):
    """The answer to an ask."""

    # What was decided.
    decision: Decision
    # Who decided; of several people the last.
    by: By
    # When, RFC 3339.
    at: str


class AnswerView(_AnswerView, _AnswerViewKeywords, total=False):
    """The answer to an ask."""

    # What an approval covers.
    scope: Scope | None
    # The approver's words for the agent.
    reason: str | None
    # Whether the agent ends its turn.
    stop: bool
    # Whether the agent explains itself and does not try again.
    explain: bool
    # Answers to questions, by question.
    answers: dict[str, Any] | None
    # The arguments that may run instead of those that were submitted.
    updated_input: Any
    # SHA-256 of the call with them.
    updated_digest: str | None
    # When its caller reported that an answer at the agent itself counted there instead, RFC 3339.
    overtaken: str | None
    # The agent's own machine that blocked the call although it was approved.
    overruled: OverruledView | None


class _CallReply(TypedDict):
    """What comes back from a submitted call."""

    # Only `allow` lets a call run.
    verdict: CallVerdict


class CallReply(_CallReply, total=False):
    """What comes back from a submitted call."""

    # Who decided and why, in one sentence; absent while the ask is open.
    reason: str | None
    # The rule that decided, where nobody was asked and there is one.
    rule: str | None
    # The ask's id, where a person is or was asked.
    ask: str | None
    # The ask's state.
    state: AskState | None
    # The answer of a closed ask.
    answer: AnswerView | None
    # The text for the agent's model, where its system has one of its own.
    message: str | None


class _Call(TypedDict):
    """A tool call, or a question, that an agent wants ruled on. The JSON of `POST /v1/calls`."""

    # Who asks, such as `claude-code`.
    agent: str
    # One conversation of it.
    session: str
    # The tool's name, as the agent calls it.
    tool: str


class Call(_Call, total=False):
    """A tool call, or a question, that an agent wants ruled on. The JSON of `POST /v1/calls`."""

    # The caller's idempotency key: the same key of one agent and session is the same ask.
    key: str | None
    # The process or machine that would run the call.
    worker: str | None
    # The machine's name, as the agent's side tells it.
    host: str | None
    # The folder it works in.
    cwd: str | None
    # Exactly what would be executed.
    args: Any
    # The tool's category, for profiles that rule on it.
    category: str | None
    # The tool's tier, for profiles that rule on it.
    tier: str | None
    # The tool's own wish to be prompted for.
    override: Any
    # The tool's own policy, for profiles that rule on it.
    policy: Any
    # The name of the user's policy for it, where that is not the tool's.
    policyKey: str | None
    # How far the agent's own host trusts the person it works for; `None` where that is its owner.
    requester: str | None
    # The mode that the agent itself is in, such as `plan`. Where it may only read, no rule and no
    # grant lets it do more.
    agent_mode: str | None
    # Why the agent wants it.
    reason: str | None
    # What the agent says it does.
    description: str | None
    # What a person said to the agent last, as the agent's side tells it. People read it on the
    # card; nothing is decided by it.
    person_said: str | None
    # What waits behind this call in the same batch.
    batch_remaining: Batch | None
    # Questions to a person; their answers are the answer.
    questions: list[Question]
    # Short for one question with these options; its text is `description`, or `reason`.
    options: list[Choice]
    # How long a person has, seconds; the policy's timeout where absent.
    expires_in_s: int | None
    # How long its caller waits for the answer at most, seconds: nobody is asked for longer,
    # whatever `expires_in_s` and the policy say.
    waits_s: int | None
    # Answers that the caller can carry out beside a plain yes and no; others are never given.
    accepts: list[Accepts]
    # Handed back unchanged.
    meta: Any
    # What the agent calls itself, where its own token names it. The daemon sets it; a caller
    # cannot.
    claims: str | None
    # Calls that are asked for ahead, to run once each within a time; the tool is `budget` then.
    budget: Budget | None
    # The verdict against which it appeals: a machine that judges calls in a person's place has
    # blocked it. The ask is then whether exactly this call may run anyway, once.
    appeal: Appeal | None
    # Another judge stands behind this one, such as an agent's own: people are asked only where a
    # rule asks, and what no rule denies is left to that judge.
    rules_only: bool
    # What is at the path of a file that it writes whole, as the agent's side tells it.
    existing: Existing | None


class _EditView(TypedDict):
    """A proposed edit of a call."""

    # All arguments as they would be.
    args: Any
    # SHA-256 of the call with them: its approval names it.
    digest: str
    # Who proposed it.
    by: str
    # Whether the changed call is critical.
    critical: bool


class EditView(_EditView, total=False):
    """A proposed edit of a call."""

    # What the changed call touches.
    effects: list[str]


class _RequirementView(TypedDict):
    """Whose answers an ask needs, and who has voted."""

    # The rule behind it.
    rule: str
    # How many have to approve.
    approvals: int
    # How many denials deny.
    denials: int


class RequirementView(_RequirementView, total=False):
    """Whose answers an ask needs, and who has voted."""

    # The group whose members count; everybody who may answer where absent.
    group: str | None
    # The names of those who have.
    approved: list[str]
    # The names of those who have denied.
    denied: list[str]


class ReviewView(TypedDict):
    """A call that ran without asking, and is shown to people afterwards."""

    # The agent whose call it was.
    agent: str
    # Its session.
    session: str
    # When it was allowed, RFC 3339.
    at: str
    # What let it run.
    through: str
    # What a denial does, in one sentence.
    tightens: str


class _AskView(TypedDict):
    """An ask."""

    # Its id.
    id: str
    # Open, or how it ended.
    state: AskState
    # The call as it was submitted.
    call: Call
    # SHA-256 of the call: an answer is bound to it.
    digest: str
    # Why a person is asked.
    why: str
    # When it was opened, RFC 3339.
    created: str


class AskView(_AskView, total=False):
    """An ask."""

    # When it expires, RFC 3339; absent where it waits for ever.
    deadline: str | None
    # The caller's own data, unchanged.
    meta: Any
    # The rules that Always would store.
    always: list[str]
    # What the call touches.
    effects: list[str]
    # What became of the call; absent while the ask is open.
    verdict: CallVerdict | None
    # Who decided and why, in one sentence.
    reason: str | None
    # What somebody wants the call to be instead; it counts once it is approved.
    edit: EditView | None
    # Whose answers it needs, where not everybody's counts or one is not enough.
    needs: list[RequirementView]
    # The answer.
    answer: AnswerView | None
    # The text for the agent's model, where its system has one of its own.
    message: str | None
    # The card as people see it, where the request says `card=true`.
    card: Any
    # The call that ran without asking, where the ask is a review of it: `approve` says that this
    # was fine, and `deny` that it should have asked.
    review: ReviewView | None


class _AsksPage(TypedDict):
    """A page of asks."""

    # The asks.
    asks: list[AskView]


class AsksPage(_AsksPage, total=False):
    """A page of asks."""

    # The `after` of the next page; absent on the last one.
    next: str | None


GrantScope: TypeAlias = Literal["session", "timed", "always", "budget", "review"]
"""How far a grant goes."""


class _GrantView(TypedDict):
    """A grant."""

    # Its id.
    id: str
    # The ask that it was given on.
    ask: str
    # The tool that its rule covers.
    tool: str
    # The pattern of its rule.
    pattern: str
    # The verdict of its rule.
    verdict: str
    # How far it reaches.
    scope: GrantScope
    # The agent that it was given to.
    agent: str
    # The session that it was given in.
    session: str
    # Who gave it.
    by: By
    # When it was given, RFC 3339.
    created_at: str
    # Its rule as people read it.
    rule: str


class GrantView(_GrantView, total=False):
    """A grant."""

    # When it ends, RFC 3339; absent where it does not end by itself.
    expires_at: str | None
    # How many calls it let run; for approvers, and absent under a profile that does not count them.
    used: int | None
    # When it last let one run, RFC 3339.
    last_used_at: str | None
    # The last one in short.
    last_call: str | None


class GrantsPage(TypedDict):
    """The grants in force."""

    # The grants.
    grants: list[GrantView]


CancelReason: TypeAlias = Literal["answered_elsewhere", "session_ended", "aborted", "refused"]
"""Why a caller takes its ask back."""


class CancelRequest(TypedDict, total=False):
    """A caller takes its ask back."""

    # Why; `aborted` where absent.
    reason: CancelReason | None
    # With `refused`: why the agent does not carry out the approval, for its card.
    why: str | None


class SessionRequest(TypedDict):
    """Names the agent whose session it is: for `abort` and `end`."""

    # The agent.
    agent: str


class NonceReply(TypedDict):
    """A nonce to show a token with."""

    # The nonce, good once and for 30 s.
    nonce: str


class ErrorReply(TypedDict):
    """Why a request is refused. It changed nothing and granted nothing."""

    # What is wrong, in one sentence.
    error: str
