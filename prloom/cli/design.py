"""Have a plan written by an agent, shown to the afterDesign hooks, and kept from work where one of them says so."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from prloom.cli import context, submit
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.cli.context import Options
    from prloom.config.models import Config
    from prloom.engine.operator.design_hooks import Designed
    from prloom.engine.operator.plan_texts import NamedPlan
    from prloom.storage.paths import RepositoryPaths


def write(given: Options, config: Config, request: str, *, plan_id: str | None) -> Designed:
    """Return the plan that an agent writes for a request."""
    return _shown(given, config, plan_id or "", _design(given, config, request))


def rewrite(given: Options, named: NamedPlan, before: str, request: str) -> Designed:
    """Return what an agent makes of a plan; the front matter stays as it is."""
    from prloom.core.plans import front_matter  # noqa: PLC0415 - `prloom edit --help` needs none

    block, rest = front_matter.split(before)
    if not block:
        rest = before
    config = context.config(given).for_preset(front_matter.parse(before).preset)
    return _shown(given, config, named.id, block + _design(given, config, request, plan=rest))


def block(where: RepositoryPaths, named: NamedPlan, reason: str) -> None:
    """Keep a plan from being worked on: a draft is not queued any more, and a plan is blocked."""
    from prloom.core.plans import front_matter  # noqa: PLC0415 - likewise
    from prloom.engine.operator import new_draft, plan_texts  # noqa: PLC0415 - likewise
    from prloom.errors import PrloomError  # noqa: PLC0415 - likewise

    if named.is_draft:
        plan_texts.change(where, named, lambda text: front_matter.with_status(text, "draft"))
        new_draft.block(where, named.id, reason)
        way_on = f"correct it with `prloom edit {named.id}`, then `prloom queue {named.id}`"
    else:
        submit.submit_ids(where, "block", [named.id], done="Blocked", reason=reason)
        way_on = f"correct it with `prloom edit {named.id}`, then `prloom unblock {named.id}`"
    raise PrloomError(f"{reason}; the plan is saved; {way_on}")


def keep(where: RepositoryPaths, text: str) -> Path:
    """Keep what was written where it becomes no draft, and return where."""
    from datetime import UTC, datetime  # noqa: PLC0415 - likewise

    from prloom.agents import run_spec  # noqa: PLC0415 - likewise
    from prloom.storage import paths  # noqa: PLC0415 - likewise
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    name = f"{run_spec.new_id(datetime.now(UTC), 'designer')}.md"
    with SafeDir.make(where.root, *paths.LOCAL, paths.DESIGNS) as folder:
        folder.replace(name, text.encode("utf-8", "replace"))
    return where.local / paths.DESIGNS / name


def _design(given: Options, config: Config, request: str, plan: str | None = None) -> str:
    import asyncio  # noqa: PLC0415 - likewise

    from prloom.engine.operator import designer  # noqa: PLC0415 - likewise

    root = context.repo_root(given)
    if sys.stdin.isatty() and sys.stdout.isatty() and designer.talks(config, os.environ):
        return designer.talk(root, config, request, plan=plan, environ=os.environ)
    with terminal.progress("an agent writes the plan"):
        return asyncio.run(designer.run(root, config, request, plan=plan, environ=os.environ))


def _shown(given: Options, config: Config, plan_id: str, text: str) -> Designed:
    """Return the plan as the afterDesign hooks of the plugins leave it."""
    import asyncio  # noqa: PLC0415 - likewise

    from prloom.engine.assembly.plugins import load_plugins  # noqa: PLC0415 - likewise
    from prloom.engine.operator import design_hooks  # noqa: PLC0415 - likewise

    root = context.repo_root(given)
    with terminal.progress("plugins look at the plan"):
        loaded = load_plugins(root, config, os.environ)
        return asyncio.run(design_hooks.run(loaded, root, config, text, plan_id=plan_id, environ=os.environ))
