"""Adopt by the rules of `[[adopt]]` while the dispatcher runs, and give up what has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from prloom import errors
from prloom.api.bridge import BridgeContext
from prloom.api.forge import Forge, PullRequest
from prloom.config.models import Config
from prloom.core.pull_requests import adoption_rules
from prloom.core.pull_requests.adoption_rules import Adoption, AdoptionRule, Proposal
from prloom.core.text import bounds
from prloom.engine.adoption import declined, found
from prloom.engine.adoption.ended import EndedPlans
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.extensions.checked_forge import CheckedForge
from prloom.workspace import repository

log = logging.getLogger(__name__)

LIMIT = 300
"""Seconds that one reading of the list may take."""


@dataclass
class RuleAdoption:
    """Adopts what the rules fit, at the interval at which the forge is polled.

    `tried` says for which head of a pull request something failed: it is not tried again, nor logged, while that is the
    same. `problems` says why a bridge could not list what the rules fit, when it last tried.
    """

    registry: PlanRegistry
    config: Config
    bridges: LoadedBridges
    context: Callable[[str], BridgeContext]
    tried: dict[int, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    _last: datetime | None = None
    _running: bool = False

    def __post_init__(self) -> None:
        self._ended = EndedPlans(self.registry)

    def begin(self, spawn: Callable[[Job], None], changed: Callable[[], None]) -> None:
        """Begin to adopt and to give up where it is time; `changed` is called when the plans are others then."""
        self._ended.begin(spawn, changed)
        rules = [section.rule() for section in self.config.adopt]
        bridge, now = self.bridges.only_forge(), self.registry.clock()
        if self._running or bridge is None or not self._due(bridge, now):
            return
        if rules:
            self._last, self._running = now, True
            spawn(partial(self._run, bridge, rules, changed))

    def _due(self, bridge: LoadedBridge, now: datetime) -> bool:
        return self._last is None or not self._last <= now < self._last + bridge.poll_interval

    async def _run(
        self,
        bridge: LoadedBridge,
        rules: Sequence[AdoptionRule],
        changed: Callable[[], None],
    ) -> None:
        try:
            count = await self._adopt_all(bridge, rules)
        finally:
            self._running = False
        if count:
            changed()

    # ---- adopting

    async def _adopt_all(self, bridge: LoadedBridge, rules: Sequence[AdoptionRule]) -> int:
        try:
            async with asyncio.timeout(LIMIT):
                pulls, chosen = await self._choose(bridge, rules)
        except Exception as error:  # noqa: BLE001 - a bridge is a stranger's code; the next time tries again
            self._note(bridge.name, errors.describe(error))
            return 0
        self.problems.pop(bridge.name, None)
        numbered = {pull.number: pull for pull in pulls}
        return sum([await self._adopt(numbered[each.number], each, bridge.targets[0]) for each in chosen.proposals])

    async def _choose(
        self, bridge: LoadedBridge, rules: Sequence[AdoptionRule]
    ) -> tuple[Sequence[PullRequest], Adoption]:
        assert isinstance(bridge.bridge, Forge)  # noqa: S101 - it was chosen for that
        forge, context = CheckedForge(bridge.bridge), self.context(bridge.name)
        pulls = await forge.open_pull_requests(context)
        me = None
        if adoption_rules.needs_own_login(rules):
            me = await forge.own_login(context)
        plans = [runtime.plan for runtime in self.registry.runtimes.values()]
        numbers, branches = {plan.pr for plan in plans}, {plan.branch for plan in plans}
        known = {pull.number for pull in pulls if pull.number in numbers}
        known |= {pull.number for pull in pulls if pull.branch in branches and not pull.fork}
        known |= {pull.number for pull in pulls if self.tried.get(pull.number) == pull.head}
        return pulls, adoption_rules.choose(
            map(found.candidate, pulls),
            rules,
            me=me,
            left_out=known | declined.load(self.registry.paths.root),
            present=[plan.rule for plan in plans if plan.rule is not None],
        )

    async def _adopt(self, pull: PullRequest, proposal: Proposal, target: str) -> bool:
        repo = await asyncio.to_thread(repository.find, self.registry.paths.root)
        try:
            plan = await found.adopt_found(
                repo,
                self.config,
                pull,
                target=target,
                work=proposal.work,
                now=self.registry.clock(),
                preset=proposal.rule.preset,
                rule=proposal.rule.name(),
                vouched=proposal.vouched,
            )
        except PrloomError as error:
            self.tried[pull.number] = pull.head
            log.warning("pull request #%d is not adopted by rule: %s", pull.number, error)
            return False
        log.info("plan %s: pull request #%d was adopted by the rule %s", plan.id, pull.number, proposal.rule.name())
        return True

    def _note(self, bridge: str, error: str) -> None:
        problem = bounds.cut(f"the rules of [[adopt]] are not applied: {error}")
        if self.problems.get(bridge) != problem:
            log.warning("%s", problem)
        self.problems[bridge] = problem
