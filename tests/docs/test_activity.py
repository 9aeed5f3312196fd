"""docs/activity.md has every type of activity with its data; docs/agents.md says which program fires which type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from prloom.agents import registry
from prloom.agents.activity import command
from prloom.core.activity import activity_ends
from prloom.core.activity.activity_ends import RunEnding
from prloom.model import kinds

START = activity_ends.started("run", "worker", "claude", None, "Do it.").data
ENDS = {
    key
    for status in ("ok", "interrupted")
    for key in activity_ends.ended("run", "claude", RunEnding(status=status)).data
}


def rows(text: str) -> dict[str, list[str]]:
    return {
        found[1]: [cell.strip() for cell in found[2].split("|")]
        for found in re.finditer(r"^\| `(\w+)` \|(.*)\|$", text, re.MULTILINE)
    }


def keys(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


@pytest.mark.parametrize("type_", [*kinds.ACTIVITY_TYPES, kinds.UNKNOWN_ACTIVITY])
def test_every_type_of_activity_is_in_the_page(type_: str, named: Callable[[str], Any]):
    assert f"`{type_}`" in named("docs/activity.md").text


@pytest.mark.parametrize("type_", list(command.FORMS))
def test_the_data_that_a_program_may_print_are_in_the_page(type_: Any, named: Callable[[str], Any]):
    fields = {field.encode_name for field in msgspec.structs.fields(command.FORMS[type_])}

    completed = set[str]()
    if type_ == "TOOL_CALL_END":  # prloom knows these itself
        completed = {"toolName", "durationMs"}
    assert keys(rows(named("docs/activity.md").text)[type_][0]) == fields | completed


def test_the_data_of_a_start_and_an_end_are_in_the_page(named: Callable[[str], Any]):
    found = rows(named("docs/activity.md").text)

    assert keys(found["AGENT_START"][0]) == set(START)
    assert keys(found["AGENT_END"][0]) == ENDS


def test_the_page_of_agents_says_which_program_can_fire_which_type(named: Callable[[str], Any]):
    section = named("docs/agents.md").text.partition("## Activity\n")[2].partition("\n## ")[0]
    heading = next(line for line in section.splitlines() if line.startswith("| Type |"))
    agents = [cell.strip(" `") for cell in heading.split("|")[2:-1]]

    assert agents == list(registry.AGENTS)
    for type_, cells in rows(section).items():
        fire = [agent for agent, cell in zip(agents, cells, strict=True) if cell == "yes"]
        assert fire == [agent for agent in agents if type_ in registry.fired_by(agent)], type_
    assert set(rows(section)) == {type_ for agent in agents for type_ in registry.fired_by(agent)}
