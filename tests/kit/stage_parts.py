"""What tests put on the stage: plugins that put events off, handle, fail on or pass them, refusals, and authors."""

from __future__ import annotations

from collections.abc import Callable

from prloom.api import Action, Author, PluginContext, Refused, TriageContext

Register = Callable[[PluginContext], None]


def deferring(milliseconds: int = 60_000, reason: str = "not now", *, saying: str = "", once: bool = False) -> Register:
    """Return a plugin that puts off each event whose text has `saying` in it; `once`: until it sees that again."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def wait(plan: str, triage: TriageContext) -> None:
            for event in triage.events:
                if saying in event.body and not (once and triage.deferral(event.id)):
                    triage.mark_event_deferred(event.id, reason, milliseconds)

    return register


def handling(reply: str = "") -> Register:
    """Return a plugin that handles each event and answers it so, where it answers; {id} and {body} are the event's."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def handle(plan: str, triage: TriageContext) -> None:
            for event in triage.events:
                if reply:
                    triage.emit_comment(event.reply_to, reply.format(id=event.id, body=event.body))
                triage.mark_event_handled(event.id)

    return register


def failing_on(word: str) -> Register:
    """Return a plugin that fails where the text of an event has the word in it."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def picky(plan: str, triage: TriageContext) -> None:
            if any(word in event.body for event in triage.events):
                raise ValueError(word)

    return register


def passing(ctx: PluginContext) -> None:
    """Register a hook that looks at each event and does nothing."""

    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        return


def refusing(*answers: Refused | None) -> Callable[[Action], Refused | None]:
    """Return what answers the first actions like this; None lets one through."""
    left = list(answers)
    return lambda action: left.pop(0) if left else None


def by(login: str, trust: str | None = None, *, bot: bool = False) -> Author:
    """Return an author; without `trust` the bridge has to find out what they may."""
    return Author(login, trust, bot=bot)
