"""Pause and resume plans, whichever of the two commands asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from prloom.cli import context, submit
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.cli.options import Options
    from prloom.storage.paths import RepositoryPaths


def switch(
    given: Options, verb: Literal["pause", "resume"], named: Sequence[str], *, all_plans: bool, done: str
) -> None:
    """Hand in the request for the plans that are named, or for all; `done` says it in the past tense."""
    if named and all_plans:
        raise click.UsageError("name plans or use --all, not both", click.get_current_context())
    where = context.repository(given)
    plan_ids = [context.plan_id(where, plan) for plan in named] if named else _every(where)
    submit.submit_ids(where, verb, plan_ids, done=done)


def _every(where: RepositoryPaths) -> Sequence[str]:
    from prloom.engine.bus import plans  # noqa: PLC0415 - named plans need none

    found = plans.ids(where)
    if not found:
        raise PrloomError(f"there are {context.NO_PLANS}")
    return found
