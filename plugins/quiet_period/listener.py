"""Hear when somebody last spoke on a plan, and hold what was said until that is a while ago.

All times are those at which prloom heard of it: the clock of a forge may differ by hours from that of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from prloom.api import Event, HookContext, Json, TriageContext, duration, iso, moment

ITEM = "review_feedback"
"""The type of an item of `review.md`, which is written for prloom and waits for nobody."""


class QuietPeriod:
    """Keeps in the plan's state when each comment that waits was heard (`since`), and when the last was (`last`)."""

    def __init__(self, quiet: timedelta, at_most: timedelta) -> None:
        self._quiet = quiet
        self._at_most = at_most

    def hear(self, event: Event, hook: HookContext) -> None:
        """Take note that somebody spoke. An edit waits no longer than what it is an edit of would have."""
        if not _is_speech(event):
            return
        heard = iso(hook.now)
        since = self._fresh(hook.get_state("since"), hook.now)
        first = since.get(event.supersedes or "", heard)
        others = {name: each for name, each in since.items() if name != event.supersedes}
        hook.set_state("since", {**others, event.id: first})
        hook.set_state("last", heard)

    def hold(self, plan: str, triage: TriageContext) -> None:
        """Put off what was said until it is quiet, or has waited long enough."""
        since = _until_now(triage)
        speech = [event for event in triage.events if event.id in since]  # what is not there has had its turn
        if not speech:
            return
        quiet_at = moment(triage.get_state("last")) + self._quiet
        done = []
        for event in speech:
            until = moment(since[event.id]) + self._at_most
            if min(quiet_at, until) <= triage.now:
                done.append(event.id)
            else:
                self._put_off(event, triage, quiet_at=quiet_at, until=until, count=len(since))
        if done:
            triage.set_state("since", {name: heard for name, heard in since.items() if name not in done})

    def _put_off(self, event: Event, triage: TriageContext, *, quiet_at: datetime, until: datetime, count: int) -> None:
        if count == 1:
            comments = "1 comment"
        else:
            comments = f"{count} comments"
        triage.mark_event_deferred(
            event.id,
            f"waiting for {duration.spell(self._quiet)} without a new comment; {comments} so far",
            (quiet_at - triage.now) // timedelta(milliseconds=1),
            until=until,
            on_expire="pass",
        )

    def _fresh(self, since: Json, now: datetime) -> Mapping[str, str]:
        """Return the comments that may still wait; others never came to that, being handled by an earlier plugin."""
        return {name: heard for name, heard in (since or {}).items() if moment(heard) + self._at_most > now}


def _is_speech(event: Event) -> bool:
    """Whether a person said this, and not to a program."""
    person = event.author is not None and not event.author.bot
    return person and event.spoken and event.type != ITEM and not event.body.lstrip().startswith("/")


def _until_now(triage: TriageContext) -> Mapping[str, str]:
    """Return since when each comment waits. A time to come is made now: the clock was turned back meanwhile."""
    since, now = triage.get_state("since") or {}, iso(triage.now)
    if max(since.values(), default="") > now:
        since = {name: min(heard, now) for name, heard in since.items()}
        triage.set_state("since", since)
    if (triage.get_state("last") or "") > now:
        triage.set_state("last", now)
    return since
