"""Begin to look after a pull request of a forge that a person names, or show which ones the rules would adopt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from prloom.api.forge import PullRequest
from prloom.config.models import Config
from prloom.core.pull_requests import adoption_rules
from prloom.core.pull_requests.adoption_rules import AdoptionRule
from prloom.engine.adoption import declined, forge_access, found
from prloom.engine.adoption.forge_access import ConnectedForge
from prloom.engine.bus import plans
from prloom.errors import PrloomError, StorageError
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace.repository import Repository


async def adopt_pull_request(
    repo: Repository,
    config: Config,
    number: int,
    *,
    plan_id: str | None,
    preset: str | None,
    work: bool | None = None,
    environ: Mapping[str, str],
    now: datetime,
) -> Plan:
    """Look after a pull request and return its plan. To adopt it is to approve its title and body as they are now.

    `work` says whether prloom may commit to it; None: where the own account opened it. Raises PrloomError where no
    forge is known, it has no such pull request, or that is over.
    """
    async with forge_access.connect(repo, config, environ, now) as access:
        pull = await _open_pull_request(access, number)
        if work and pull.fork:
            raise PrloomError(
                f"pull request #{number} is from a fork, to which prloom does not push; adopt it with --no-work"
            )
        if work is None:
            me = await access.forge.own_login(access.context)
            work = not pull.fork and adoption_rules.is_own(found.candidate(pull), me)
    plan = await found.adopt_found(
        repo, config, pull, target=access.target, work=work, now=now, plan_id=plan_id, preset=preset
    )
    declined.remove(repo.root, number)
    return plan


async def _open_pull_request(access: ConnectedForge, number: int) -> PullRequest:
    """Ask the forge for the pull request; raises PrloomError where it cannot be looked after."""
    pull = await access.forge.pull_request(access.context, number)
    if pull is None:
        raise PrloomError(f"{access.name} has no pull request #{number}, or the token has no access to it")
    if pull.state != "open":
        raise PrloomError(f"pull request #{number} is {pull.state}; it cannot be adopted")
    return pull


# ---- what the rules would do


@dataclass(frozen=True)
class Preview:
    """An open pull request that a rule fits, and what would become of it: adopted, or why not."""

    pull: PullRequest
    rule: AdoptionRule
    work: bool
    reason: str | None = None


async def preview(repo: Repository, config: Config, environ: Mapping[str, str], now: datetime) -> tuple[Preview, ...]:
    """Return the open pull requests that the rules fit, the oldest first, and adopt none of them.

    Raises PrloomError where there are no rules, or the forge cannot be asked.
    """
    rules = [section.rule() for section in config.adopt]
    if not rules:
        raise PrloomError("there are no rules; write [[adopt]] into prloom.toml, or adopt one with `prloom adopt PR`")
    async with forge_access.connect(repo, config, environ, now) as access:
        pulls = await access.forge.open_pull_requests(access.context)
        me = None
        if adoption_rules.needs_own_login(rules):
            me = await access.forge.own_login(access.context)
    known = _plans(repo, config)
    reasons = {plan.pr: "adopted already" for plan in known if plan.pr is not None}
    reasons |= dict.fromkeys(declined.load(repo.root), "given up with `prloom forget`; adopt it by its number")
    chosen = adoption_rules.choose(
        map(found.candidate, pulls),
        rules,
        me=me,
        left_out=reasons,
        present=[plan.rule for plan in known if plan.rule is not None],
    )
    reasons |= {number: f"the rule's limit is {rule.limit}" for number, rule in chosen.over_limit}
    fitting = [(pull, adoption_rules.first_fit(found.candidate(pull), rules, me)) for pull in pulls]
    return tuple(
        Preview(pull, rule, rule.works_on(found.candidate(pull), me), reasons.get(pull.number))
        for pull, rule in fitting
        if rule is not None
    )


def _plans(repo: Repository, config: Config) -> list[Plan]:
    """Return the plans that can be read."""
    where, present = plans.locate(repo.root, config.worktrees_dir), []
    for plan_id in plans.ids(where):
        local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
        if local is None:
            continue
        with local:
            try:
                present.append(plans.load(local))
            except StorageError:
                continue
    return present
