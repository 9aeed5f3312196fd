"""Refuse what the configuration of a plan does not allow, before it is requested."""

from __future__ import annotations

from collections.abc import Iterable

from prloom.config.models import Config
from prloom.engine.bus import plans
from prloom.engine.operator import emit
from prloom.errors import PrloomError
from prloom.storage.paths import RepositoryPaths


def refuse_rebases(where: RepositoryPaths, config: Config, plan_ids: Iterable[str]) -> None:
    """Raise PrloomError where one of the plans is never to be rebased."""
    for plan_id in plan_ids:
        with emit.open_local(where, plan_id) as local:
            preset = plans.load(local).preset
        if config.for_preset(preset).work.rebase == "never":
            raise PrloomError(
                f'plan {plan_id} is not rebased: `[work] rebase` is "never" in prloom.toml; set it to "on_request", '
                f"or rebase the branch by hand in the plan's worktree"
            )
