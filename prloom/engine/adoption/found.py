"""Adopt a pull request that was read from its forge: fetch its branch, and look after that."""

from __future__ import annotations

import asyncio
from datetime import datetime

from prloom.api.forge import PullRequest
from prloom.config.models import Config
from prloom.core.pull_requests.adoption_rules import Candidate
from prloom.core.text import bounds, naming
from prloom.engine.adoption import adopt
from prloom.engine.bus import plans
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.workspace import remote, repository
from prloom.workspace.repository import Repository


def candidate(found: PullRequest) -> Candidate:
    """Return what a rule reads of a pull request."""
    return Candidate(
        number=found.number,
        author=found.author,
        base=found.base,
        labels=found.labels,
        draft=found.draft,
        fork=found.fork,
    )


async def adopt_found(
    repo: Repository,
    config: Config,
    found: PullRequest,
    *,
    target: str,
    work: bool,
    now: datetime,
    plan_id: str | None = None,
    preset: str | None = None,
    rule: str | None = None,
    vouched: bool = True,
) -> Plan:
    """Look after a pull request and return its plan; its title and body are used where they are `vouched` for.

    `target` is that of actions to the forge. Raises PrloomError where its branch cannot be looked after.
    """
    branch = await asyncio.to_thread(
        repository.fetch_pull_request, repo, branch=found.branch, ref=found.ref, number=found.number, fork=found.fork
    )
    base = await asyncio.to_thread(_base, repo, found.base)
    title, body = f"pull request #{found.number}", ""
    if vouched:
        title, body = found.title, found.body
    plan = Plan(
        id=plan_id or adopt.default_id(plans.locate(repo.root, config.worktrees_dir), found.number, branch),
        branch=branch,
        title=bounds.title(title),
        pr=found.number,
        pr_base=base,
        forge=target,
        url=found.url,
        preset=preset,
        work=work,
        rule=rule,
        created_at=Timestamp.of(now),
    )
    return await asyncio.to_thread(adopt.adopt, repo, config, plan, body=body)


def _base(repo: Repository, base: str) -> str | None:
    """Return the branch that a pull request is to be merged into, which is fetched where it has never been.

    Whatever keeps that from being done is said where the base is used, and keeps no pull request from being adopted.
    """
    if not naming.is_branch_name(base):
        return None
    if repository.remote_sha(repo, base) is None:
        remote.fetch(repo, base)
    return base
