"""Find plans through git's own list of worktrees, for when prloom's list of them was removed with its other files."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from prloom.core import naming
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.plan import Adopted, Plan
from prloom.storage import json_codec
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import checkout, root
from prloom.workspace.checkout import Checkout

GIVEN_UP = "given up"
"""The note on the worktree of a plan that was given up, where the worktree itself was left alone."""

_PULL_REQUEST = re.compile(r"pr-([1-9][0-9]{0,9})")


def note(plan: Plan) -> str:
    """Return what git's folder for the plan's worktree is to say of the plan."""
    return msgspec.json.encode(record.to_wire(plan)).decode()


def give_up(repository: RepositoryPaths, path: Path) -> None:
    """Have a plan's worktree, which stays, not be found as that of a plan; one that is not registered is no error."""
    main = checkout.at(repository.root)
    if main is None:
        found = None
    else:
        found = checkout.registered(main.common, path)
    if found is not None and root.note_of_plan(found) is not None:
        root.mark_as_plans(found, GIVEN_UP)


def missing(repository: RepositoryPaths, known: Container[str]) -> Iterator[Adopted]:
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
    """Return the plan as far as git's files tell: by default, a plan has the name of its branch or pull request."""
    branch = checkout.branch(worktree) or plan_id
    if branch == plan_id:
        number = None
    else:
        number = _PULL_REQUEST.fullmatch(plan_id)
    return Plan(id=plan_id, branch=branch, title=branch, pr=None if number is None else int(number[1]))
