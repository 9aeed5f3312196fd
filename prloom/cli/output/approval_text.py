"""Print what an approval or a release covers: the text of each held event, and what each withheld action would send."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from prloom.cli.output import layout, terminal
from prloom.core.text import secret_scan
from prloom.engine.views import request_targets
from prloom.engine.views.request_targets import RequestTarget
from prloom.storage.paths import RepositoryPaths


def lines(where: RepositoryPaths, found: Iterable[RequestTarget]) -> Iterator[str]:
    """Yield the whole texts; raises PrloomError where one is not what came in."""
    for target in found:
        if target.action is None:
            yield from _event_lines(where, target)
        else:
            yield from _action_lines(where, target)


def _event_lines(where: RepositoryPaths, target: RequestTarget) -> Iterator[str]:
    event = request_targets.event(where, target)
    author = "an unknown author"
    if event.author:
        author = terminal.clean(event.author.login)
    yield f"{layout.shown_id(event.id)}  {terminal.clean(event.type)} by {author}, plan {terminal.clean(target.plan)}"
    if event.title:
        yield layout.INDENT + terminal.paint(terminal.clean(event.title), "strong")
    yield from layout.quoted(event.body)


def _action_lines(where: RepositoryPaths, target: RequestTarget) -> Iterator[str]:
    """Yield what an action would publish, with the secrets masked: what is in a terminal is soon in a log."""
    action = request_targets.action(where, target)
    kind, to = terminal.clean(action.kind), terminal.clean(action.target.target)
    yield f"{layout.shown_id(action.id)}  {kind} to {to}, plan {terminal.clean(target.plan)}"
    for text in secret_scan.texts(action):
        yield from layout.quoted(secret_scan.masked(text, secret_scan.environment_secrets(os.environ)))
