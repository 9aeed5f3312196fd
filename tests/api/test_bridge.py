from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from forge_bridge import ForgeBridge

from prloom import api
from prloom.api.bridge import Bridge, BridgeContext, Delivered, Permissions, Polled, Refused
from prloom.api.forge import Forge
from prloom.model.action import Action
from prloom.model.record import Json


class Inbound:
    """The least that is a bridge."""

    name = "inbound"
    targets: Sequence[str] = ()

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return Polled()

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        return Refused("inbound only")


class ForgeWithPermissions(Inbound):
    async def permission(self, ctx: BridgeContext, login: str) -> str:
        return "read"


class Mute:
    name = "mute"
    targets: Sequence[str] = ()


def test_a_bridge_is_whatever_has_a_bridges_parts() -> None:
    assert [isinstance(thing, Bridge) for thing in (Inbound(), ForgeBridge(), Mute(), object())] == [
        True,
        True,
        False,
        False,
    ]


def test_what_else_a_bridge_can_do_is_told_by_its_parts() -> None:
    assert [isinstance(thing, Permissions) for thing in (Inbound(), ForgeWithPermissions(), ForgeBridge())] == [
        False,
        True,
        True,
    ]
    assert [isinstance(thing, Forge) for thing in (Inbound(), ForgeWithPermissions(), ForgeBridge())] == [
        False,
        False,
        True,
    ]


def test_an_outcome_says_no_more_than_its_bridge_knows() -> None:
    assert Polled() == Polled(events=(), state=None)
    assert Delivered() == Delivered(remote_id=None, url=None)
    assert Refused("no") == Refused("no", retryable=False, retry_after=None, unknown=False)


def test_a_first_attempt_is_certain_and_belongs_to_no_plan_yet() -> None:
    ctx = BridgeContext(Path("/repo"), (), datetime(2026, 11, 21, tzinfo=UTC))

    assert (ctx.plan, ctx.uncertain, ctx.log.name) == (None, False, "prloom.bridge")


def test_every_name_that_authors_may_import_is_there() -> None:
    of_the_design = {"PluginContext", "HookContext", "TriageContext", "Bridge", "BridgeContext", "Polled", "Delivered"}
    of_the_design |= {"Refused", "Forge", "Event", "Action"}

    assert of_the_design <= set(api.__all__)
    assert [name for name in api.__all__ if not hasattr(api, name)] == []
