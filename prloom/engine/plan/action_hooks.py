"""Have plugins decide about what is about to leave: an action (beforeRoute), or a plan to write (beforeUpsert)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from prloom.api.bridge import Refused
from prloom.core.delivery import outbox
from prloom.core.text import secret_scan
from prloom.engine.plan import plugin_calls
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.extensions.host.interface import HookFailed
from prloom.model.action import Action, UpsertPlan
from prloom.model.hook import HookCall, Outcome
from prloom.model.hook_points import BEFORE_ROUTE, BEFORE_UPSERT, HookName


@dataclass(frozen=True)
class ActionHooks:
    """The plugins' hooks for what leaves prloom; one that fails keeps it back."""

    plugins: PluginSet
    services: Callable[[PlanRuntime], PlanServices]

    def has(self, hook: HookName, rules: Rules) -> bool:
        """Whether any plugin of a plan with these rules has a hook."""
        return bool(self._keys(hook, rules))

    async def route(self, runtime: PlanRuntime, action: Action, secrets: Mapping[str, str]) -> Action | Refused:
        """Return an action as it is to be sent, or why it is not; an action that a hook failed on is tried again.

        `secrets` are values that must not get out, each by what it is.
        """
        before = action
        for key in self._keys(BEFORE_ROUTE, runtime.rules):
            try:
                outcome = await self._run(runtime, key, BEFORE_ROUTE, action)
            except HookFailed as failure:
                return Refused(f"{BEFORE_ROUTE} failed, so it is not sent: {failure}", retryable=True)
            if outcome.block is not None:
                return Refused(f"plugin {key} refuses to send it: {outcome.block}", retryable=False)
            if outcome.action is not None:
                action = _changed(action, outcome.action)
        problem = _problem(before, action, secrets)
        if problem is not None:
            return Refused(problem, retryable=False)
        return action

    async def upsert(self, runtime: PlanRuntime, payload: UpsertPlan) -> UpsertPlan:
        """Return a plan as it is to be written; raises PrloomError where a plugin refuses it, or fails."""
        for key in self._keys(BEFORE_UPSERT, runtime.rules):
            try:
                outcome = await self._run(runtime, key, BEFORE_UPSERT, payload)
            except HookFailed as failure:
                raise PrloomError(f"{BEFORE_UPSERT} failed, so the plan is not written: {failure}") from failure
            if outcome.block is not None:
                raise PrloomError(f"plugin {key} refuses the plan {payload.title!r}: {outcome.block}")
            if outcome.plan is not None:
                payload = replace(payload, plan_markdown=outcome.plan)
        return payload

    def _keys(self, hook: HookName, rules: Rules) -> tuple[str, ...]:
        return self.plugins.with_hook(hook, rules.config.plugins.disabled)

    async def _run(self, runtime: PlanRuntime, key: str, hook: HookName, about: Action | UpsertPlan) -> Outcome:
        def prepare(call: HookCall) -> HookCall:
            if isinstance(about, Action):
                return replace(call, action=about)
            return replace(call, plan=about.plan_markdown, upsert=about)

        return await plugin_calls.run(
            runtime,
            self.plugins[key],
            hook,
            self.services(runtime),
            prepare=prepare,
            limit=runtime.rules.hook_timeout,
        )


def _changed(before: Action, after: Action) -> Action:
    """Return an action with another target and payload: what it is, and what it answers, stays."""
    target = after.target
    if target.target == outbox.PLAN_TARGET:
        target = before.target
    return replace(before, target=target, payload=after.payload)


def _problem(before: Action, after: Action, secrets: Mapping[str, str]) -> str | None:
    """Return why a changed action cannot be sent, or None."""
    if after.target.target != before.target.target:
        return f"a plugin changed its target from {before.target.target!r} to {after.target.target!r}"
    found = set(secret_scan.in_action(after, secrets)) - set(secret_scan.in_action(before, secrets))
    if found:
        return f"a plugin has put {' and '.join(sorted(found))} into it"
    return None
