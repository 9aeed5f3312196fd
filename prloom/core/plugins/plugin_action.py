"""Check the actions that a plugin's daemon registers, which people run by name, and say why one cannot be run."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from prloom.core.plugins.daemon_life import DaemonState

MOST: Final = 50
"""Actions that one plugin may register."""

LONGEST_DESCRIPTION: Final = 300

COMMAND: Final = "command:/"
"""What the name of the hook point of a comment's command begins with; the command's name follows."""

REGISTERING: Final = 30.0
"""Seconds from its start in which a daemon may register its actions again."""

_SOON: Final = 1.0

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def problem(name: str, description: str, known: Collection[str], commands: Collection[str]) -> str | None:
    """Return why an action cannot be registered, or None; `commands` are those of the plugin's own code."""
    if _NAME.fullmatch(name) is None:
        return f"name: {name[:64]!r} cannot be used; use a letter, and then at most 63 of a-z, 0-9, '_' and '-'"
    if name == "prloom":
        return "name: /prloom is built in; choose another name"
    if name in {each.casefold() for each in commands}:
        return f"name: the plugin's own code has registered /{name} already"
    if name not in known and len(known) >= MOST:
        return f"name: the plugin has registered {MOST} actions already; unregister one"
    if len(description) > LONGEST_DESCRIPTION:
        return f"description: it has {len(description)} characters; write at most {LONGEST_DESCRIPTION}"
    return None


class Absence(NamedTuple):
    """Why an action cannot be run that was registered once; `wait` says when to try again (seconds), None never.

    One that is `over` is not registered any more by the daemon that runs.
    """

    reason: str
    wait: float | None = None
    over: bool = False


def absence(plugin: str, name: str, state: DaemonState, *, since: float, next_attempt: float | None) -> Absence:
    """Return why an action cannot be run that the daemon, in a state since so many seconds, has not registered now."""
    if state == "running" and since < REGISTERING:
        return Absence(f"the daemon of plugin {plugin} was started again, and has not registered /{name} yet", _SOON)
    if state == "running":
        return Absence(f"Plugin {plugin} does not offer `/{name}` any more.", over=True)
    if next_attempt is not None:
        return Absence(f"the daemon of plugin {plugin} is not running; prloom starts it again", next_attempt)
    if state in {"starting", "stopping"}:
        return Absence(f"the daemon of plugin {plugin} is {state}", _SOON)
    return Absence(
        f"Plugin {plugin} is not running, so `/{name}` was not carried out. "
        f"`prloom plugins start {plugin}` starts it; then say it again."
    )


def words(body: str) -> str:
    """Return what stands after the command's name in a comment, as its author wrote it."""
    parts = body.strip().split(maxsplit=1)
    if len(parts) > 1:
        return parts[1]
    return ""
