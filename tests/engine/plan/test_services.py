"""What a running hook may ask for: the plan's events and texts, and nothing that a stranger wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author, Event
from prloom.engine.plan.hook_services import MOST, HookServices
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import ExtensionError


@pytest.fixture
def services(registry: PlanRegistry) -> HookServices:
    async def no_agent(*asked: Any) -> str:
        raise AssertionError

    return HookServices(registry.runtimes["pr-7"], run=no_agent, read_plan=registry.read_plan)


def ids(found: tuple[Sequence[Event], str | None]) -> tuple[list[str], str | None]:
    events, last = found
    return [event.id for event in events], last


def test_events_are_read_oldest_first_and_on_from_an_id(stage: Stage, services: HookServices):
    stage.append(*(said(f"e{number}") for number in range(5)))

    first = services.read_events(types=None, since_id=None, limit=2)
    rest = services.read_events(types=None, since_id=first[1], limit=10)

    assert ids(first) == (["e0", "e1"], "e1")
    assert ids(rest) == (["e2", "e3", "e4"], "e4")
    assert ids(services.read_events(types=None, since_id="e4", limit=10)) == ([], "e4")


def test_only_events_of_the_types_that_were_asked_for_are_returned(stage: Stage, services: HookServices):
    stage.append(said("a"), said("b", type="check_failed"), said("c"))

    assert ids(services.read_events(types=["check_failed"], since_id=None, limit=10)) == (["b"], "c")


def test_what_strangers_wrote_is_left_out_also_when_its_text_was_vouched_for(stage: Stage, services: HookServices):
    stage.configure("")
    stage.append(
        said("mine"),
        said("friend", author=Author("ann", "write")),
        said("stranger", author=Author("eve", "none")),
        said("unknown", author=Author("bob")),
        said("bot", author=Author("bot", "admin", bot=True)),
    )

    assert ids(services.read_events(types=None, since_id=None, limit=10)) == (["mine", "friend"], "bot")


def test_an_id_that_the_plan_never_had_is_a_mistake(services: HookServices):
    with pytest.raises(ExtensionError, match="this plan has no event 'x' to continue from"):
        services.read_events(types=None, since_id="x", limit=10)


def test_no_call_returns_more_than_a_thousand(stage: Stage, services: HookServices):
    stage.append(*(said(f"e{number}") for number in range(MOST + 5)))

    events, last = services.read_events(types=None, since_id=None, limit=10**9)

    assert (len(events), last) == (MOST, f"e{MOST - 1}")
