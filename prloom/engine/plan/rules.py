"""Derive the rules that a plan is worked by from the configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from prloom.backoff import Backoff
from prloom.config.models import Config
from prloom.core.delivery.audience import PostingRules
from prloom.core.trust import Policy
from prloom.core.work.work_steps import WorkRules
from prloom.errors import ConfigError
from prloom.model.plan import Plan


@dataclass(frozen=True)
class Rules:
    """The rules that one plan is worked by; a plan's preset may differ from the others."""

    config: Config
    trust: Policy
    backoff: Backoff
    hook_timeout: timedelta
    work: WorkRules
    posting: PostingRules


def rules(config: Config) -> Rules:
    """Return the rules that a configuration amounts to."""
    waits = Backoff(
        initial=config.backoff.initial,
        maximum=config.backoff.maximum,
        deadline=config.backoff.deadline,
        max_attempts=config.backoff.max_attempts,
    )
    return Rules(
        config=config,
        trust=Policy(config.trust.minimum, config.trust.users, config.trust.bots),
        backoff=waits,
        hook_timeout=config.plugins.hook_timeout,
        posting=PostingRules(trusted=config.outbox.trusted, others=config.outbox.others, bots=config.outbox.bots),
        work=WorkRules(
            mode=config.work.mode,
            skip_blocked=config.work.skip_blocked,
            review=config.work.review,
            max_attempts=config.limits.max_attempts,
            max_review_rounds=config.limits.max_review_rounds,
            max_ci_fixes=config.limits.max_ci_fixes,
            max_finish_rounds=config.limits.max_finish_rounds,
            rebase=config.work.rebase,
            backoff=waits,
        ),
    )


def of_plan(plan: Plan, general: Rules) -> Rules:
    """Return the rules of a plan: those of its preset, and no work where prloom may not commit to its branch."""
    found = general
    if plan.preset:
        try:
            found = rules(general.config.for_preset(plan.preset))
        except ConfigError as error:
            raise ConfigError(f"plan {plan.id}: {error}") from error
    if plan.work:
        return found
    return replace(found, work=replace(found.work, mode="off"))
