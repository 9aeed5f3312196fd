"""What the operator's configuration means for the core: its sections as the core's own values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from prloom.backoff import Backoff
from prloom.config.models import Config
from prloom.core.trust import Policy


@dataclass(frozen=True)
class Rules:
    """The rules that one plan is worked by; a plan's preset may differ from the others."""

    config: Config
    trust: Policy
    backoff: Backoff
    hook_timeout: timedelta


def rules(config: Config) -> Rules:
    """Return the rules that a configuration amounts to."""
    return Rules(
        config=config,
        trust=Policy(config.trust.minimum, config.trust.users, config.trust.bots),
        backoff=Backoff(
            initial=config.backoff.initial,
            maximum=config.backoff.maximum,
            deadline=config.backoff.deadline,
            max_attempts=config.backoff.max_attempts,
        ),
        hook_timeout=config.plugins.hook_timeout,
    )
