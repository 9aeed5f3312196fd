"""What a bridge implements, and what it is given: the way between a source of feedback and the bus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from logging import Logger, getLogger
from pathlib import Path
from typing import Protocol, runtime_checkable

from prloom.api.http import Http
from prloom.model.action import Action, React, UpsertPlan
from prloom.model.event import Event
from prloom.model.record import Json


class Files(Protocol):
    """The plan's own folder, `<worktree>/prloom/.local`; nothing in it is followed through a symbolic link."""

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if there is none."""

    def replace_text(self, name: str, text: str) -> None:
        """Write a file whole, or leave it as it was."""

    def stamp(self, name: str) -> str | None:
        """Return a text that differs whenever the file has changed; the file is not read for it.

        None while that cannot be told, because the file has just been changed.
        """


def _nothing_has_ended(_: str) -> bool:
    return False


@dataclass(frozen=True)
class TrackedPlan:
    """A plan that prloom looks after, as a bridge sees it.

    `adopted` is since when (ISO 8601): a plan that was given up and made anew has the same id and a later time.
    `has_ended` says of an event's id whether prloom took that event in and is through with it: no TODO and no reply of
    it waits. `cockpit` is the mark with which the comment of the account begins that has the plan's cockpit; None where
    that is in the description. Boxes anywhere else are text.
    """

    id: str
    branch: str
    worktree: Path
    files: Files
    pr: int | None = None
    adopted: str | None = None
    has_ended: Callable[[str], bool] = _nothing_has_ended
    cockpit: str | None = None


@dataclass(frozen=True)
class BridgeContext:
    """What a bridge may use during one call.

    `plans` are the tracked plans. While an action is delivered, `plan` is the plan it belongs to, and `uncertain` says
    that an earlier attempt may have reached its target: look for the action's marker before posting it again. `http`
    is the client of a bridge that says what it needs of one (`UsesHttp`). `polled_again` says that another poll follows
    after the interval, to which can be left what a person may still be writing.
    """

    repo_root: Path
    plans: Sequence[TrackedPlan]
    now: datetime
    plan: TrackedPlan | None = None
    uncertain: bool = False
    log: Logger = field(default_factory=lambda: getLogger("prloom.bridge"))
    http: Http | None = None
    polled_again: bool = False


@dataclass(frozen=True)
class Polled:
    """What a poll found: events, oldest first, and the cursor (any JSON) for the next poll.

    An event says which plan it is for by `pr`, or by `context["plan"]` with the plan's id; otherwise it concerns the
    repository as a whole. prloom reads more of its `context`, where it is there:

    - `remoteId`: what the source calls the post, unlike any other post of that source; it is compared with the
      `remote_id` of what was delivered, so that prloom does not answer itself.
    - `supersedes`: the id of the event that this one is an edit of; an edit has an id of its own.
    - `updatedAt`: when the text was edited last. Nobody's approval vouches for what was edited after it.
    - `file`, `line`, `side` and `diffHunk`: what the event is about, for the agent.

    - `head`: the commit at the head of the pull request when this was heard. A merge that is asked for because of the
      event merges that commit and no later one; because of a `pr_review`, the one that its `commit` names.

    `heads` are the commits at the heads of the tracked pull requests, by number, whether or not anything is new.
    `bases` are likewise the names of the branches that they are to be merged into.
    `ticked` are the boxes of the cockpit that are ticked now and that an event has reported, likewise by number: prloom
    clears only these. Such an event has the type `box_ticked`, the body `/prloom NAME`, and its author is who ticked
    the box (`prloom.api.ticked` reads the names). `now`
    is the time by the source's own clock, where it tells it: the times of its events are compared with that.

    `plans` are new or changed plans that the source has, such as tickets: each becomes a draft, in place of the one
    that the same `source` and `metadata["id"]` had before. Return one when it has changed, and not in each poll.

    An event without an author speaks for the operator. Whatever people or bots wrote has one, also where their account
    is gone (`ghost`); `trust` is left open unless the source was asked for it.

    `idle` says, in a few words, why the source was not asked at all; `prloom status` shows it. `warnings` say, a line
    each, what is wrong with the source as long as it is so: `prloom status` and `prloom doctor` show them.
    """

    events: Sequence[Event] = ()
    state: Json = None
    heads: Mapping[int, str] = field(default_factory=dict)
    idle: str | None = None
    now: datetime | None = None
    warnings: Sequence[str] = ()
    ticked: Mapping[int, Sequence[str]] = field(default_factory=dict)
    plans: Sequence[UpsertPlan] = ()
    bases: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivered:
    """The action took effect; `remote_id` and `url` name what was posted."""

    remote_id: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class Refused:
    """The action did not take effect. Where `retryable`, it is tried again, `retry_after` from now at the earliest.

    `unknown` says that it may have taken effect all the same (a time-out after sending, say). `commit` is the commit
    that the attempt was about: the payload of later attempts has it where the action itself names none.
    """

    error: str
    retryable: bool = False
    retry_after: timedelta | None = None
    unknown: bool = False
    commit: str | None = None


@runtime_checkable
class Bridge(Protocol):
    """A source of events and a place for actions. `targets` are the targets it claims; empty for inbound only."""

    name: str
    targets: Sequence[str]

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Return what is new since the cursor `state` (None: the first poll). Raise, and nothing is taken as read."""

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Deliver one action, so that it appears once however often it is asked for."""


@runtime_checkable
class UsesOrigin(Protocol):
    """A bridge that can tell its repository from the address of the git remote `origin`."""

    def use_origin(self, url: str) -> None:
        """Take the repository at this address, unless the operator's settings name one.

        prloom calls it once, before it asks the bridge for anything; not where the repository has no such remote.
        """


@runtime_checkable
class DeliversBatches(Protocol):
    """A bridge that delivers many actions of one plan for the cost of one, such as one write of a file."""

    async def deliver_batch(self, ctx: BridgeContext, actions: Sequence[Action]) -> Sequence[Delivered | Refused]:
        """Deliver actions of `ctx.plan`, oldest first, and return one result for each, in the same order.

        `ctx.uncertain` says that an earlier attempt of at least one of them may have reached its target. If this
        raises, prloom passes each action to `actions` alone.
        """


@runtime_checkable
class Permissions(Protocol):
    """A bridge that can tell what an author may do in the repository."""

    async def permission(self, ctx: BridgeContext, login: str) -> str:
        """Return none, read, triage, write, maintain or admin; raise where it is not known: not trusted yet."""


@runtime_checkable
class Acknowledges(Protocol):
    """A bridge that can give a quick sign, without words, that something was taken in."""

    def acknowledgement(self, event: Event) -> React | None:
        """Return the sign for what a person has just written, or None for none: it is wanted off, or there is no way.

        prloom asks once for each event whose `reply_to` is a target of this bridge, before it knows whether its author
        is trusted; the sign goes to `reply_to`, as an action, when the event is let in. Ask nobody anything in here.
        """
