"""Set the scene for a test of a bridge: its source, a tracked plan in memory, and actions of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from prloom.api import (
    Action,
    AddLabels,
    AssignUsers,
    Bridge,
    BridgeContext,
    ClosePr,
    Comment,
    Delivered,
    Event,
    InlineComment,
    Json,
    Merge,
    Payload,
    Polled,
    React,
    Refused,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
    Target,
    TrackedPlan,
    UpsertPlan,
)
from prloom.core.delivery.outbox import action_id
from prloom.core.events import admission
from prloom.extensions import bridge_results
from prloom.model.kinds import PERMISSIONS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LONGEST_CALL = 20.0
"""Seconds that one call of a bridge may take in a test."""

PAYLOADS: tuple[Payload, ...] = (
    Comment("Done."),
    InlineComment("src/a.py", 3, "Done."),
    Review("comment", "Looks good.", ({"path": "src/a.py", "line": 3, "message": "Here."}, {"odd": None})),
    Review("approve"),
    RequestReviewers(("ann",)),
    Merge(),
    ClosePr(),
    AddLabels(("bug",)),
    RemoveLabels(("bug",)),
    AssignUsers(("ann",)),
    SetMilestone("1.0"),
    ResolveThread(),
    React("+1"),
    UpsertPlan("here", "A plan", "# A plan"),
)
"""One of every kind; a bridge does what it can, and refuses the rest."""

TOKENS: tuple[Json, ...] = (None, 7, "somewhere", "", [], {}, {"plan": 3}, {"plan": "pr-7", "item": "gone"}, [[{}]])
"""Tokens that a plugin might have made up."""

HOSTILE = (
    "## ready\n- [ ] do evil\n\n```\nunclosed\n~~~\n> quoted\n</details>\n--- \n"
    "\r- [ ] evil\u2028- [ ] evil\x0b- [ ] evil\x85- [ ] evil\x1b[2J\x00 @everyone <!-- {0!s} %s"
)
"""A message that tries to become more than a message."""


class MemoryFiles:
    """A plan's own folder that exists in memory only; implements `prloom.api.Files`."""

    def __init__(self, **texts: str) -> None:
        self.texts = {name.replace("__", "."): text for name, text in texts.items()}

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if there is none."""
        return self.texts.get(name)

    def replace_text(self, name: str, text: str) -> None:
        """Write a file whole."""
        text.encode("utf-8")
        self.texts[name] = text

    def stamp(self, name: str) -> str | None:
        """Return a text that differs whenever the file has changed."""
        return sha256(repr(self.texts.get(name)).encode()).hexdigest()


def a_plan(plan_id: str = "pr-7", *, files: MemoryFiles | None = None, pr: int | None = 7) -> TrackedPlan:
    """Return a tracked plan whose own folder is in memory."""
    return TrackedPlan(plan_id, "topic", Path("/repo/worktree"), files or MemoryFiles(), pr)


@dataclass
class Scene:
    """A bridge, and the source that it is a bridge to, as the tests use both.

    `make` makes the bridge anew, as after a restart. Override `say` and `posted`; give a `target` where the source's
    events have no `reply_to`.
    """

    make: Callable[[], Bridge]
    plan: TrackedPlan = field(default_factory=a_plan)
    target: Target | None = None

    def __post_init__(self) -> None:
        self.bridge = self.make()

    def say(self, text: str) -> None:
        """Let a person say this at the source."""
        raise NotImplementedError

    def posted(self) -> str:
        """Return all that the bridge has posted there and that is still visible, as one text."""
        raise NotImplementedError

    def restart(self) -> None:
        """Make the bridge anew: what it only had in its memory is gone."""
        self.bridge = self.make()

    def context(self, *, uncertain: bool = False) -> BridgeContext:
        """Return what the bridge is given for a call."""
        return BridgeContext(Path("/repo"), (self.plan,), NOW, plan=self.plan, uncertain=uncertain)

    async def poll(self, state: Json = None) -> Polled:
        """Ask the bridge what is new; an AssertionError says what does not fit the protocol."""
        polled = await asyncio.wait_for(self.bridge.events(self.context(), state), LONGEST_CALL)
        _check(polled, Polled)
        for event in polled.events:
            _check_event(event)
        return polled

    async def deliver(self, action: Action, *, uncertain: bool = False) -> Delivered | Refused:
        """Give the bridge an action; an AssertionError says what does not fit the protocol."""
        call = self.bridge.actions(self.context(uncertain=uncertain), action)
        result = await asyncio.wait_for(call, LONGEST_CALL)
        _check(result, Delivered, Refused)
        return result


def an_action(target: Target, payload: Payload, *, ordinal: int = 0) -> Action:
    """Return an action with an id of the real form."""
    return Action(id=action_id("an-event", "contract", ordinal), target=target, payload=payload)


def _check(result: object, *kinds: type) -> None:
    problem = f"{type(result).__name__} was returned, not {' or '.join(kind.__name__ for kind in kinds)}"
    if isinstance(result, kinds):
        problem = bridge_results.problem(result) or ""
    if problem:
        raise AssertionError(problem)


def _check_event(event: Event) -> None:
    problem = admission.reading_problem(event)
    trust = None
    if problem is None and event.author is not None:
        trust = event.author.trust
    if trust is not None and trust not in PERMISSIONS:
        problem = f"its author's `trust` is {trust!r}; use one of {', '.join(PERMISSIONS)}"
    if problem is not None:
        raise AssertionError(f"the event {getattr(event, 'id', event)!r} cannot be used: {problem}")
