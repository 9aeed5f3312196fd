"""Define each set of names once: types of events, states, orders, verdicts, permissions, and stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from prloom.model.hook_points import HookPoint

WaitState = Literal["deferred", "held", "parked"]
OpenState = Literal["pending", WaitState]
DoneState = Literal["handled", "triaged", "dropped", "superseded"]
State = Literal[OpenState, DoneState]
WAITING: tuple[WaitState, ...] = get_args(WaitState)
OPEN: tuple[OpenState, ...] = get_args(OpenState)
DONE: tuple[DoneState, ...] = get_args(DoneState)
STATES: tuple[State, ...] = (*OPEN, *DONE)
"""The states of events, in the order in which pages and commands offer them."""
PUT_OFF: Final[tuple[WaitState, ...]] = ("deferred", "parked")
"""The states of an event that a retry ends: a held one needs an approval, not another try."""

EventOrder = Literal["came", "age"]
"""In the order in which they came in, or those first whose state has not changed for the longest time."""
EVENT_ORDERS: tuple[EventOrder, ...] = get_args(EventOrder)

AgentVerdict = Literal["todo", "answered", "acknowledged", "declined"]
AGENT_VERDICTS: tuple[AgentVerdict, ...] = get_args(AgentVerdict)
"""What a triage agent says of an event."""

TrustVerdict = Literal["admitted", "held", "vouched"]
LET_IN: Final[tuple[TrustVerdict, ...]] = ("admitted", "vouched")
"""The verdicts after which an event may be read: its author is trusted, or a person approved its text."""
HookVerdict = Literal["seen", "passed", "handled", "deferred", "parked"]
RunVerdict = Literal["started", "failed", "limited", "quota", "cut_short"]
WaitVerdict = Literal["due", "woken", "expired", "retried", "dropped", "superseded"]
Verdict = TrustVerdict | HookVerdict | AgentVerdict | RunVerdict | WaitVerdict
"""What put an event into its state; docs/files.md says what each of them means."""

PlanDraftStatus = Literal["draft", "queued"]
"""The states of a plan that has no branch yet."""

PlanAtWork = Literal["active", "review"]
PlanEnd = Literal["merged", "closed"]
PlanState = Literal[PlanAtWork, "paused", PlanEnd, PlanDraftStatus]
AT_WORK: Final[frozenset[PlanAtWork]] = frozenset(get_args(PlanAtWork))
"""The states of a plan in which prloom goes on by itself."""
ENDED: Final[frozenset[PlanEnd]] = frozenset(get_args(PlanEnd))
"""The states of a plan whose pull request has come to its end."""

TRIAGE: Final = "triage"
"""The stage in which an agent says what is to be done about events; it owns the waits that its runs bring about."""

DecisionStage = (
    Literal[
        "intake",
        "trust",
        "command",
        "notice",
        "triage",
        "wait",
        "todo",
        "work",
        "pull_request",
        "deliver",
        "operator",
        "message",
        "state",
        "tool",
        "plan",
        "snapshot",
    ]
    | HookPoint
)
"""The steps that decide: prloom's own, and the hooks of plugins."""

Permission = Literal["none", "read", "triage", "write", "maintain", "admin"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""What an author may do on the repository, in rising order; a forge maps its own permissions to these."""

TRUST_LEVELS = (*PERMISSIONS, "operator")
"""The permissions, and above them the person who runs prloom."""


class Kind(Struct, frozen=True):
    """What a type of events means.

    `speech`: the body is a person's own words, and not a log or a report. `commands`: the words may be a command.
    `threaded`: the event stands in a conversation of its own, which can be resolved. `notice`: without an author and a
    body, the event reports only that something happened, and needs no answer. `plan_status`: what the plan is from then
    on. `control`: somebody used a control of prloom's own. It is dropped where its author is not trusted, for it has no
    text that could be approved, and it is not answered: the cockpit shows what came of it. `of_commit`: it tells what
    was found out about one commit, and is over when the pull request has another head. `moves_head`: the pull request
    has another head. `ends`: why the event whose place one of this kind takes is over. `noun`: what a person calls one
    such event, and several.
    """

    speech: bool = False
    commands: bool = False
    threaded: bool = False
    notice: bool = False
    plan_status: PlanState | None = None
    control: bool = False
    of_commit: bool = False
    moves_head: bool = False
    ends: str = "edited"
    noun: tuple[str, str] = ("event", "events")


DELETED = "comment_deleted"
CHECKS_CHANGED = "checks_changed"
CHECK_PASSED = "check_passed"
CONFLICT_RESOLVED = "conflict_resolved"
PLUGIN_MESSAGE = "plugin_message"
"""What a plugin's daemon added to a plan: the words of a program that the operator permits that, and no command."""

_WORDS = ("comment", "comments")
_COMMENT = Kind(speech=True, commands=True, noun=_WORDS)
_THREAD = Kind(speech=True, commands=True, threaded=True, noun=_WORDS)
_NOTICE = Kind(notice=True)

KINDS: Mapping[str, Kind] = {
    "pr_comment": _COMMENT,
    "pr_review": replace(_COMMENT, noun=("review", "reviews")),
    "pr_review_comment": _THREAD,
    "review_feedback": _THREAD,
    "box_ticked": Kind(commands=True, control=True),
    "check_failed": Kind(of_commit=True, ends="the check failed again", noun=("failed check", "failed checks")),
    "merge_conflict": Kind(ends="reported again", noun=("merge conflict", "merge conflicts")),
    "pr_pushed": replace(_NOTICE, moves_head=True),
    "pr_closed": Kind(notice=True, plan_status="closed"),
    "pr_merged": Kind(notice=True, plan_status="merged"),
    "pr_reopened": Kind(notice=True, plan_status="active"),
    DELETED: replace(_NOTICE, ends="its comment was deleted"),
    CHECKS_CHANGED: _NOTICE,
    CHECK_PASSED: replace(_NOTICE, ends="the check has passed since"),
    CONFLICT_RESOLVED: replace(_NOTICE, ends="the conflict is resolved"),
    PLUGIN_MESSAGE: Kind(noun=("message", "messages")),
}
"""The types of events that prloom's own bridges report, and that of plugins' messages."""

PLAN_CREATED: Final = "plan_created"
"""The type of the event by which a new draft is announced to the plugins' onGlobalEvent hooks."""

SPEECH = tuple(name for name, kind in KINDS.items() if kind.speech)
"""Types of events whose body is a person's own words: feedback."""

NOTICES = tuple(name for name, kind in KINDS.items() if kind.notice)
"""Types of events that, without an author and a body, report only that something happened: they need no answer."""

CONTROLS = tuple(name for name, kind in KINDS.items() if kind.control)
"""Types of events that somebody used a control of prloom's own."""

_SPEECH_WORDS = ("comment", "discussion", "feedback", "message", "note", "reply", "review")
"""Last words in the names of other types that are a person's own words, such as `mr_comment`."""


def kind(name: str, *, by_person: bool) -> Kind:
    """Return what a type means. A type of another source is speech if a person wrote the event, or by its name.

    An event of any other type may be a log, and its first line is no command of the operator's.
    """
    registered = KINDS.get(name)
    if registered is not None:
        return registered
    last_word = name.replace("-", "_").replace(".", "_").rpartition("_")[2]
    spoken = by_person or name.startswith("pr_") or last_word in _SPEECH_WORDS
    if spoken:
        return _COMMENT
    return Kind()


StageName = Literal["default", "triage", "worker", "designer", "commit_review"]
STAGES: tuple[StageName, ...] = get_args(StageName)
"""The stages of the work, for each of which an agent and a model are configured."""

RunOutcome = Literal["ok", "failed", "limited", "unusable", "interrupted"]
"""What a run came to.

`limited` is a used-up allowance: a wait, not a failed attempt. It lasts until `retry_at`, or nobody knows until when.
`unusable` is a program that is not signed in or does not start: a wait for a person, and not a failed attempt.
`interrupted` is a run that prloom itself ended or lost, for instance with its own end: not a failed attempt either.
"""

CHECK = "check"
"""The stage of runs that are the operator's own checks: they are no agents', and count for no limit."""

ActivityType = Literal[
    "AGENT_START",
    "AGENT_END",
    "TOOL_CALL_START",
    "TOOL_CALL_END",
    "PERMISSION_REQUEST",
    "PERMISSION_RESPONSE",
    "COMPACTION_START",
    "COMPACTION_COMPLETE",
    "CONTEXT_USAGE_UPDATE",
    "TODO_UPDATE",
    "THOUGHT_COMPLETE",
    "DIFF_PREVIEW",
    "PLUGIN_MESSAGE_RECEIVED",
    "PLUGIN_EVENT_EMITTED",
    "PLUGIN_ACTION_REQUESTED",
    "PLUGIN_CONFIG_REQUEST",
    "PLUGIN_CONFIG_COMPLETE",
]
ACTIVITY_TYPES: tuple[ActivityType, ...] = get_args(ActivityType)
"""The types of activity events that one can subscribe to."""
TOOL_CALL: Final[tuple[ActivityType, ...]] = ("TOOL_CALL_START", "TOOL_CALL_END")
"""Those of a call of a tool."""

UNKNOWN_ACTIVITY = "UNKNOWN"
"""The type of a line of an agent program that its adapter does not know: it is kept, and nobody can subscribe to it."""

RequestOutcome = Literal["ok", "denied", "limited", "failed"]
REQUEST_OUTCOMES: tuple[RequestOutcome, ...] = get_args(RequestOutcome)
"""How a request of a plugin can end, in the order in which pages and commands list the counts."""
