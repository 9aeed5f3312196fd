"""Keep the pull request of a plan: open it, describe it, and take it out of draft, beside the work itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from prloom.api.bridge import BridgeContext
from prloom.api.forge import Forge
from prloom.config import stages
from prloom.core.delivery.outbox import cockpit_marker
from prloom.core.plans import front_matter, plan_text
from prloom.core.plans.front_matter import FrontMatter
from prloom.core.pull_requests import cockpit, cockpit_markers, front_matter_actions, pull_request, signature
from prloom.core.pull_requests.pull_request import MarkReady, OpenPullRequest, ShowCockpit
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.engine.work import new_pull_request
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridge
from prloom.extensions.checked_forge import CheckedForge
from prloom.model.decision import DecisionParts
from prloom.model.event import Target
from prloom.model.plan import Plan
from prloom.model.pull_request import OpenedPullRequest

log = logging.getLogger(__name__)

LIMIT = 60
"""Seconds that one step at the forge may take."""

_TRIES = 3
"""How often a description is merged anew because a person saved another one meanwhile."""


class UnheardTick(Exception):  # noqa: N818 - nothing is wrong: the next poll reports it
    """Boxes were ticked of which no event has come yet."""

    def __init__(self, boxes: Collection[str]) -> None:
        super().__init__(boxes)
        self.boxes = boxes


@dataclass(frozen=True)
class ForgeAccess:
    """A forge, under the name by which actions go to it, and what a call of it needs."""

    forge: Forge
    target: str
    context: BridgeContext


def begin(runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
    """Begin what is to be done with the plan's pull request; return whether there is anything."""
    if runtime.in_flight.at_forge or not runtime.usable:
        return False
    bridge = _bridge(runtime.plan.forge, dependencies)
    if bridge is None or _next(runtime) is None:
        return False
    runtime.in_flight.at_forge = True
    dependencies.tasks.spawn(runtime, partial(_keep, runtime, bridge, dependencies))
    return True


def is_presented(runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
    """Whether nothing is left to be done at the forge before the hooks that come after it."""
    if _bridge(runtime.plan.forge, dependencies) is None:
        return True
    opens = runtime.rules.config.work.open == "first_commit"
    return pull_request.is_presented(runtime.plan, runtime.event_store.state, opens=opens)


def _bridge(forge: str | None, dependencies: PlanDependencies) -> LoadedBridge | None:
    """Return the bridge to the plan's forge; for a plan without a pull request, to the only forge that there is."""
    loaded = dependencies.bridges.loaded
    if forge is not None:
        found = loaded.claimant(forge)
        if found is not None and isinstance(found.bridge, Forge):
            return found
        return None
    return loaded.only_forge()


def _cockpit(runtime: PlanRuntime) -> str:
    host = None
    if runtime.plan.url is not None:
        host = urlsplit(runtime.plan.url).hostname
    text = ""
    if runtime.plan.pr is None or runtime.event_store.state.pull_request.opened:  # else it is what people read there
        text = plan_text.body(runtime.text.read())
    view = pull_request.view(
        runtime.event_store.state,
        runtime.text.todos(),
        text,
        runtime.rules.work,
        host=host,
        status=runtime.plan.status,
        signed=_signature(runtime),
    )
    return cockpit.render(view)


def _signature(runtime: PlanRuntime) -> str:
    """Return who writes, with the agents that worked on the plan, or the one that is to."""
    config = runtime.rules.config
    done = runtime.event_store.state.done_todos.values()
    agent, model = stages.stage(config, "worker")
    worked = [each.agent for each in done if each.agent is not None]
    return signature.line(config.outbox.signature, signature.agents(worked, agent, model))


def _next(runtime: PlanRuntime) -> pull_request.PullRequestStep | None:
    if runtime.has_lost_text:
        return None
    return pull_request.next_step(
        runtime.plan,
        runtime.event_store.state,
        runtime.text.todos(),
        _cockpit(runtime),
        opens=runtime.rules.config.work.open == "first_commit",
        now=runtime.clock(),
        ticked=runtime.ticked,
        sound=runtime.text.problem() is None,
    )


async def _keep(runtime: PlanRuntime, bridge: LoadedBridge, dependencies: PlanDependencies) -> None:
    """Do one step after the other until none is left; an error is tried again later."""
    assert isinstance(bridge.bridge, Forge)  # noqa: S101 - it was chosen for that
    forge = CheckedForge(bridge.bridge)
    try:
        while (step := _next(runtime)) is not None:
            access = ForgeAccess(forge, bridge.targets[0], dependencies.bridges.context(bridge.name))
            try:
                async with asyncio.timeout(LIMIT):
                    parts = await _do(runtime, step, access)
            except UnheardTick as tick:
                parts = pull_request.unheard(runtime.event_store.state, tick.boxes, runtime.clock())
            except Exception as error:  # noqa: BLE001 - whatever a bridge raises, the work goes on
                reason = f"{bridge.name}: {error or type(error).__name__}"
                log.warning("plan %s: %s", runtime.id, reason)
                state = runtime.event_store.state
                parts = pull_request.failed(
                    state, reason, runtime.rules.backoff, runtime.clock(), status=runtime.plan.status
                )
            runtime.event_store.commit("pull_request", bridge.name, **parts)
    finally:
        runtime.in_flight.at_forge = False


async def _do(runtime: PlanRuntime, step: pull_request.PullRequestStep, access: ForgeAccess) -> DecisionParts:
    state = runtime.event_store.state
    match step:
        case OpenPullRequest():
            found = await new_pull_request.open_once(runtime, access.forge, access.context, body=_cockpit(runtime))
            note = OpenedPullRequest(number=found.number, forge=access.target, url=found.url, base=found.base)
            labels = front_matter_actions.when_opened(
                runtime.id, _front(runtime), Target(note.forge, {"pr": note.number})
            )
            return {**pull_request.opened(state, note, found.state), "actions": labels}
        case ShowCockpit(own=own):
            shown, status = _cockpit(runtime), runtime.plan.status
            comment_id = None
            if own:
                await _describe(runtime, access, shown)
            else:
                comment_id = await _comment(runtime, access, shown)
            runtime.ticked = ()
            return pull_request.shown(state, shown, runtime.clock(), status=status, comment_id=comment_id)
        case MarkReady():
            front = front_matter.parse(runtime.text.read())
            await access.forge.mark_ready(access.context, _number(runtime.plan))
            reviews = front_matter_actions.when_ready(runtime.id, front, reply_target(runtime.plan))
            return {**pull_request.ready(state), "actions": reviews}


def _front(runtime: PlanRuntime) -> FrontMatter:
    """Return what the front matter of the plan says; a mistake in it keeps no pull request from being opened."""
    try:
        return front_matter.parse(runtime.text.read())
    except PrloomError as error:
        log.warning("plan %s: %s", runtime.id, error)
        return FrontMatter()


async def _describe(runtime: PlanRuntime, access: ForgeAccess, shown: str) -> None:
    """Write the cockpit into the description; what people wrote around it stays as it is."""
    number = _number(runtime.plan)
    found = await access.forge.pull_request(access.context, number)
    if found is None:
        raise LookupError(f"there is no pull request #{number} any more")
    runtime.note_base(found.base)
    before = found.body
    for _ in range(_TRIES):
        _refuse_unheard(runtime.ticked, before)
        wanted = cockpit_markers.merge(before, shown)
        if wanted == before:
            return
        after = await access.forge.describe_pull_request(access.context, number, body=wanted, expected=before)
        if after == wanted:
            return
        before = after
    raise RuntimeError(f"the description of #{number} was edited again and again while prloom wrote into it")


async def _comment(runtime: PlanRuntime, access: ForgeAccess, shown: str) -> str:
    """Keep one comment with the cockpit on a pull request that another opened, and return its id."""
    mark = cockpit_marker(runtime.id)
    known = runtime.event_store.state.pull_request.comment_id
    upsert = partial(access.forge.upsert_comment, access.context, _number(runtime.plan), marker=mark, body=shown)
    posted = await upsert(remote_id=known, expected="")  # there is none with an empty text: it is read, or posted
    for _ in range(_TRIES):
        if posted.body == shown:
            return posted.remote_id
        _refuse_unheard(runtime.ticked, posted.body)
        posted = await upsert(remote_id=posted.remote_id, expected=posted.body)
    raise RuntimeError("prloom's comment was edited again and again while prloom wrote it")


def _refuse_unheard(heard: Collection[str], body: str) -> None:
    """Raise where a box is ticked of which no event has come: to clear it would lose what a person wants."""
    unheard = set(cockpit_markers.ticked(body)) - set(heard)
    if unheard:
        raise UnheardTick(unheard)


def _number(plan: Plan) -> int:
    assert plan.pr is not None  # noqa: S101 - a step for a pull request is decided only where there is one
    return plan.pr
