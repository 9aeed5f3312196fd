"""Remember the adopted plans in the main checkout, and find those whose worktree or files were removed."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from prloom.core.text import naming
from prloom.engine.bus import plans
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.plan import Adopted, Plan
from prloom.storage import json_codec, paths
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import checkout, root
from prloom.workspace.checkout import Checkout

_SUFFIX = ".json"


def remember(top: SafeDir, adopted: Adopted) -> None:
    """Write what is to be remembered of a plan."""
    with top.make_sub(paths.ADOPTED) as folder:
        Document(folder, adopted.plan.id + _SUFFIX).save(record.to_wire(adopted))


def forget(top: SafeDir, plan_id: str) -> None:
    """Forget a plan; one that is not remembered is no error."""
    with top.make_sub(paths.ADOPTED) as folder:
        if folder.exists(plan_id + _SUFFIX):
            folder.remove(plan_id + _SUFFIX)


def read(top: SafeDir, plan_id: str) -> Adopted | None:
    """Return what is remembered of a plan; None if that is nothing, or cannot be read."""
    folder = top.sub(paths.ADOPTED)
    if folder is None:
        return None
    with folder:
        return _read(folder, plan_id)


def lost(repository: RepositoryPaths, present: Collection[str] | None = None) -> tuple[Adopted, ...]:
    """Return the plans that were adopted and not given up, and that are not where the worktrees are, by their ids.

    Those that are not remembered, because prloom's files in the checkout were removed, are found through git. `present`
    are the ids of the plans that are there, as far as the caller knows them.
    """
    if present is None:
        present = plans.ids(repository)
    there = set(present)
    remembered, found = set[str](), list[Adopted]()
    top = SafeDir.open(repository.root, *paths.LOCAL, paths.ADOPTED)
    if top is not None:
        with top:
            remembered = {name.removesuffix(_SUFFIX) for name in top.names() if name.endswith(_SUFFIX)}
            found += (each for plan_id in remembered - there if (each := _read(top, plan_id)) is not None)
    known = there | {each.plan.id for each in found}
    found += registered_plans(repository, known)
    return tuple(sorted(found, key=lambda each: each.plan.id))


def _read(folder: SafeDir, plan_id: str) -> Adopted | None:
    with suppress(StorageError, msgspec.ValidationError):
        value = Document(folder, plan_id + _SUFFIX).peek().value
        if value is None:
            found = None
        else:
            found = record.from_wire(Adopted, value)
        if found is not None and found.plan.id == plan_id:
            return found
        return None
    return None


GIVEN_UP = "given up"
"""The note on the worktree of a plan that was given up, where the worktree itself was left alone."""

_PULL_REQUEST = re.compile(r"pr-([1-9][0-9]{0,9})")


def plan_note(plan: Plan) -> str:
    """Return the note about the plan for git's folder of the plan's worktree."""
    return msgspec.json.encode(record.to_wire(plan)).decode()


def mark_given_up(repository: RepositoryPaths, path: Path) -> None:
    """Mark a worktree that stays, so that it is not found as a plan's; one that is not registered is no error."""
    main = checkout.at(repository.root)
    if main is None:
        found = None
    else:
        found = checkout.registered(main.common, path)
    if found is not None and root.note_of_plan(found) is not None:
        root.mark_as_plans(found, GIVEN_UP)


def registered_plans(repository: RepositoryPaths, known: Container[str]) -> Iterator[Adopted]:
    """Yield the plans of which git has a worktree registered, but for the known ones; their counts are not known.

    Git is not started, and of known plans nothing is read: `prloom status` does this each time.
    """
    main = checkout.at(repository.root)
    if main is None:
        return
    try:
        names = os.listdir(main.common / "worktrees")  # noqa: PTH208 - the names only
    except OSError:  # most often, there are no worktrees
        return
    for name in names:
        # Git names the folder as the worktree, unless another one has that name already.
        if name in known:
            found = None
        else:
            found = checkout.of_git_dir(main.common / "worktrees" / name, main.common)
        if found is not None and found.path.name not in known:
            plan = _plan(found)
            if plan is not None:
                yield Adopted(plan=plan, worktree=str(found.path))


def _plan(worktree: Checkout) -> Plan | None:
    """Return the plan of a worktree; None if it is not a plan's, or was given up."""
    noted, plan_id = root.note_of_plan(worktree), worktree.path.name
    if noted is None or noted == GIVEN_UP:
        return None
    with suppress(PrloomError):
        plan = _noted(noted, naming.check_plan_id(plan_id))
        if plan is not None:
            return plan
        is_half_made = worktree.path.is_dir() and not root.is_adopted(worktree.path)
        if is_half_made:
            return None
        return _guessed(worktree, plan_id)
    return None


def _noted(noted: str, plan_id: str) -> Plan | None:
    """Return the plan that the note holds; None if it holds none, as while it is adopted, and in earlier versions."""
    value = json_codec.decode(noted.encode("utf-8", "replace"))
    if isinstance(value, json_codec.Unreadable):
        return None
    with suppress(msgspec.ValidationError):
        plan = record.from_wire(Plan, value)
        if plan.id == plan_id:
            return plan
        return None
    return None


def _guessed(worktree: Checkout, plan_id: str) -> Plan:
    """Return what git's files say of the plan: by default, a plan has the name of its branch or pull request."""
    branch = checkout.branch(worktree) or plan_id
    if branch == plan_id:
        number = None
    else:
        number = _PULL_REQUEST.fullmatch(plan_id)
    return Plan(id=plan_id, branch=branch, title=branch, pr=None if number is None else int(number[1]))
