"""Refuse the commands that an agent's run may not give: all but those that only read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import click

READERS: Final = frozenset(
    (
        *(
            "status",
            "events",
            "why",
            "diff",
            "runs",
            "log",
            "logs",
            "costs",
            "stats",
            "config",
            "doctor",
            "completion",
            "help",
        ),
        *("plugins list", "plugins status", "plugins logs", "skills list", "bridges list"),
        *("exchange read", "exchange check", "exchange inspect", "exchange stats"),
    )
)
"""The commands that only read, whatever their options say. Any other counts as a person's word, or runs programs."""

READING_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "todo": lambda given: given["action"] is None,
    "outbox": lambda given: given["action"] is None,
    "mcp": lambda given: given["run"] is not None,  # the server of a run itself, for which the run needs its token
}
"""Whether a command only reads with these parameters, where that depends on them."""


def check(ctx: click.Context, name: str, command: click.Command, args: list[str]) -> None:
    """Raise PrloomError where an agent's run has started this process, unless the command only reads.

    `ctx` is the context of the group that has the command as `name`, and `args` are what follows the name.
    """
    path = " ".join((*ctx.command_path.split()[1:], name))
    if path in READERS:
        return
    run = _run()
    if run is None:
        return
    only_reads = READING_FORMS.get(path)
    if only_reads is None or not only_reads(command.make_context(name, list(args), parent=ctx).params):
        raise PrloomError(f"prloom {path} was started by {run}; only a person may decide this, outside of any run")


def _run() -> str | None:
    """Return what shows that this process belongs to an agent's run; None for a person's."""
    from prloom.agents import run_ancestry  # noqa: PLC0415 - commands that only read need none

    run = os.environ.get(run_ancestry.RUN_VARIABLE)
    if run:
        return f"run {run}"
    return run_ancestry.run_of(os.getpid())
