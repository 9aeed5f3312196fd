"""Decide which conversations are resolved by the TODOs that were done."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from prloom.core import marker
from prloom.model.action import Action, ResolveThread
from prloom.model.decision import Thread

OWNER = "prloom"


def resolved(
    waiting: Mapping[str, tuple[Thread, ...]], ticked: Collection[str]
) -> tuple[tuple[str, ...], tuple[Action, ...]]:
    """Return which of the waiting TODOs are done, and the actions that resolve their conversations.

    A conversation whose event asked for several TODOs is resolved with the last of them.
    """
    done = tuple(todo_id for todo_id in waiting if todo_id in ticked)
    still = {thread.event_id for todo_id, threads in waiting.items() if todo_id not in done for thread in threads}
    threads = {thread.event_id: thread for todo_id in done for thread in waiting[todo_id]}
    actions = tuple(
        Action(
            id=marker.action_id(thread.event_id, f"{OWNER}/resolve", 0),
            target=thread.target,
            payload=ResolveThread(),
            related_event_id=thread.event_id,
        )
        for thread in threads.values()
        if thread.event_id not in still
    )
    return done, actions
