"""Run the operator's commit hooks in a plan's clone, where the operator has allowed it: they may refuse a commit.

Which hooks there are is for the operator's checkout to say: where `core.hooksPath` is relative, git would look in the
clone, whose files are the pull request's. What a hook changes in files or in the index is not committed.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

from prloom.core.work import commit_message
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import command_run
from prloom.engine.work.change import Changes
from prloom.errors import WorkspaceError
from prloom.model.work import TodoWork
from prloom.workspace import clone, repository
from prloom.workspace.repository import Repository

_SHOWN = 1_500  # characters at the end of what a hook wrote


class CommitRefusedError(WorkspaceError):
    """A hook of the operator's refused a commit; the text has the end of what it wrote."""


async def run(pool: AgentPool, changes: Changes, runtime: PlanRuntime, work: TodoWork, message: str) -> str:
    """Run `pre-commit`, `prepare-commit-msg` and `commit-msg`, and return the message as they leave it.

    The clone has the commit's files, and its index has them, too. Raises CommitRefusedError where a hook refuses, and
    AgentError where prloom stopped meanwhile.
    """
    folder, place = await asyncio.to_thread(repository.hooks_folder, changes.repo), runtime.folders.clone
    hooks = [name for name in ("pre-commit", "prepare-commit-msg", "commit-msg") if os.access(folder / name, os.X_OK)]
    if not hooks:
        return message
    await asyncio.to_thread(changes.fill_clone, runtime, work.base or "", tree=work.tree)
    file = await asyncio.to_thread(clone.write_message, place, message)
    words = {"pre-commit": (), "prepare-commit-msg": (file, "message"), "commit-msg": (file,)}
    for name in hooks:
        command = shlex.join([str(folder / name), *words[name]])
        limit = runtime.rules.config.work.check_timeout
        result = await command_run.run(pool, runtime, work, command, limit=limit, read=_shown(changes.repo, folder))
        if result.status != "ok":
            wrote = result.message.strip()[-_SHOWN:]
            raise CommitRefusedError(f"the hook {name} refused the commit: {result.error}\n{wrote}")
    changed = await asyncio.to_thread(clone.read_message, place)
    if commit_message.read(changed) != commit_message.read(message):
        raise CommitRefusedError(
            "a hook for commit messages has changed the trailers of prloom; have it leave them alone"
        )
    return changed


def _shown(repo: Repository, folder: Path) -> tuple[str, ...]:
    """Return the folders that hooks need in a sandbox.

    Husky's in `.husky/_` run those beside that folder, and do nothing where they do not find them.
    """
    is_in_checkout = folder.is_relative_to(repo.root) and not folder.is_relative_to(repo.git_dir)
    if is_in_checkout and folder.parent != repo.root:
        return (str(folder.parent),)
    return (str(folder),)
