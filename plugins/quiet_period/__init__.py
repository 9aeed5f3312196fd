"""Put off people's comments until nobody has spoken for a while: a discussion is answered once, when it is over.

Each comment restarts the period for all that wait on the plan, but none waits longer than `at_most`. Bots, commands,
checks and the local file are not put off, and do not count as speaking. All times are those at which prloom received
the event: the clock of a forge may differ by hours from that of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, model_validator

from prloom.api import (
    SPEECH,
    Duration,
    Event,
    HookContext,
    Json,
    PluginContext,
    TriageContext,
    duration,
    iso,
    moment,
)

ITEM = "review_feedback"
"""The type of an item of `review.md`, which is written for prloom and does not wait."""

_SPEECH = [name for name in SPEECH if name != ITEM]


class Config(BaseModel):
    """Without `quiet`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    quiet: Duration | None = None
    at_most: Duration = timedelta(minutes=30)

    @model_validator(mode="after")
    def _bounded(self) -> Config:
        if self.quiet is not None and self.at_most < self.quiet:
            most, quiet = duration.spell(self.at_most), duration.spell(self.quiet)
            raise ValueError(f"at_most is {most}, which is shorter than quiet, {quiet}; make it longer")
        return self


def register(ctx: PluginContext) -> None:
    """Register to record when people speak, and to put off what they say."""
    if ctx.config.quiet is None:
        return
    period = QuietPeriod(ctx.config.quiet, ctx.config.at_most)
    ctx.register_hook("onEvent", period.record)
    ctx.register_hook("beforeTriage", period.defer)


class QuietPeriod:
    """Keeps in the plan's state when each waiting comment was received (`since`), and when the last was (`last`)."""

    def __init__(self, quiet: timedelta, at_most: timedelta) -> None:
        self._quiet = quiet
        self._at_most = at_most

    def record(self, event: Event, hook: HookContext) -> None:
        """Record when a person spoke. An edit waits no longer than the comment that it is an edit of."""
        if not _is_speech(event):
            return
        received = iso(hook.now)
        since = self._still_waiting(hook.get_state("since"), hook.now)
        first = since.get(event.supersedes or "", received)
        others = {name: each for name, each in since.items() if name != event.supersedes}
        hook.set_state("since", {**others, event.id: first})
        hook.set_state("last", received)

    def defer(self, plan: str, triage: TriageContext) -> None:
        """Put off what was said until it is quiet, or has waited long enough."""
        since = _receive_times(triage)
        speech = [event for event in triage.events if event.id in since]  # what is not there has waited already
        if not speech:
            return
        quiet_at = moment(triage.get_state("last")) + self._quiet
        done = []
        for event in speech:
            until = moment(since[event.id]) + self._at_most
            if min(quiet_at, until) <= triage.now:
                done.append(event.id)
            else:
                self._defer(event, triage, quiet_at=quiet_at, until=until, count=len(since))
        if done:
            triage.set_state("since", {name: received for name, received in since.items() if name not in done})

    def _defer(self, event: Event, triage: TriageContext, *, quiet_at: datetime, until: datetime, count: int) -> None:
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
            wake_on={"types": _SPEECH},
        )

    def _still_waiting(self, since: Json, now: datetime) -> Mapping[str, str]:
        """Return the comments that may still wait; the others were handled by an earlier plugin."""
        return {name: received for name, received in (since or {}).items() if moment(received) + self._at_most > now}


def _is_speech(event: Event) -> bool:
    """Whether a person said this, and not to a program."""
    person = event.author is not None and not event.author.bot
    return person and event.spoken and event.type != ITEM and not event.body.lstrip().startswith("/")


def _receive_times(triage: TriageContext) -> Mapping[str, str]:
    """Return since when each comment waits. A future time is replaced by now: the clock was turned back meanwhile."""
    since, now = triage.get_state("since") or {}, iso(triage.now)
    if max(since.values(), default="") > now:
        since = {name: min(received, now) for name, received in since.items()}
        triage.set_state("since", since)
    if (triage.get_state("last") or "") > now:
        triage.set_state("last", now)
    return since
