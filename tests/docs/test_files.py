"""docs/files.md has every path, record and field; docs/how-it-works.md every state, docs/agents.md every agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from prloom.agents import registry, run_folder
from prloom.agents.agent import ErrorKind
from prloom.engine.bus import event_store
from prloom.model.action import Action, Payload
from prloom.model.decision import Change, Decision, Deferral, DeliveryChange, Intake, OnExpire, StateWrite, Todo
from prloom.model.event import Author, Event, Target
from prloom.model.kinds import DONE, OPEN
from prloom.model.plan import Plan
from prloom.model.pull_request import KeptPullRequest, OpenedPullRequest
from prloom.model.record import Record
from prloom.model.run import RunRecord, RunUsage
from prloom.model.state import DeliveryState, DispatchState, Receipt
from prloom.model.work import Block, DoneTodo, TodoWork, WorkStep, WorkVerdict
from prloom.storage import dispatcher_files, document, lines, paths, repair
from prloom.transport.limits_store import Allowance, StoredLimits

PAGE = "docs/files.md"
RECORDS = (
    *(Event, Author, Target, Action, Decision, Change, Deferral, Intake, StateWrite, Todo, DeliveryChange),
    *(TodoWork, WorkStep, Block, DoneTodo, KeptPullRequest, OpenedPullRequest),
    *(DispatchState, DeliveryState, Receipt, Plan, StoredLimits, Allowance, RunRecord, RunUsage),
)


def constants(module: Any) -> dict[str, str]:
    return {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}


@pytest.mark.parametrize(("name", "value"), sorted(constants(paths).items()))
def test_every_path_that_the_storage_knows_is_in_the_page(name: str, value: str, named: Callable[[str], Any]):
    assert re.search(rf"(?<![\w.]){re.escape(value)}(?![\w])", named(PAGE).text), name


def test_the_names_that_are_made_of_others_are_in_the_page(named: Callable[[str], Any]):
    text = named(PAGE).text

    assert "/".join(paths.LOCAL) in text
    assert paths.bridge_cursor("<bridge>") in text
    assert paths.bridge_deliveries("<bridge>") in text
    assert paths.bridge_limits("<bridge>") in text
    assert paths.plugin_file("<plugin>") in text
    assert paths.plugin_file("image/openai") in text
    assert dispatcher_files.OWNER in text
    assert f"<name>.{document.LABEL}-<UTC time>" in text
    assert f"<name>.{repair.TORN}-<UTC time>" in text
    assert callable(repair.quarantine)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_of_a_stored_record_is_in_the_page(record: type[Record], named: Callable[[str], Any]):
    text = named(PAGE).text

    fields = [field.encode_name for field in msgspec.structs.fields(record)]
    assert [name for name in fields if f"`{name}`" not in text] == []


def test_every_payload_verdict_and_end_of_a_wait_is_in_the_page(named: Callable[[str], Any], root: Path):
    text = named(PAGE).text
    source = "".join(
        path.read_text("utf-8") for folder in ("core", "engine") for path in (root / "prloom" / folder).rglob("*.py")
    )

    verdicts = {*re.findall(r'verdict="(\w+)"', source), "todo", "answered", "acknowledged", "declined"}
    tags = {payload.__struct_config__.tag for payload in get_args(Payload)}
    words = {*verdicts, *tags, *get_args(OnExpire), *get_args(WorkVerdict)}
    assert [word for word in sorted(words) if f"`{word}`" not in text] == []


def test_every_stage_of_a_decision_is_in_the_page(named: Callable[[str], Any], root: Path):
    text = named(PAGE).text
    source = "".join(path.read_text("utf-8") for path in (root / "prloom" / "engine").rglob("*.py"))

    stages = {*re.findall(r'\.commit\(\s*"(\w+)"', source), *re.findall(r'stage="(\w+)"', source)}
    assert len(stages) > 5
    assert [name for name in sorted(stages) if f"`{name}`" not in text] == []


def test_the_limits_that_the_page_names_are_those_of_the_code(named: Callable[[str], Any]):
    text = named(PAGE).text

    assert f"{lines.LINE_LIMIT >> 20} MiB" in text
    assert f"over {event_store.ROTATE_AT >> 20} MiB" in text


def test_every_state_has_its_row(named: Callable[[str], Any]):
    text = named("docs/how-it-works.md").section("The states")

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [*OPEN, *DONE]


def test_every_agent_is_held_to_reading_by_a_row_of_the_page(named: Callable[[str], Any]):
    text = named("docs/agents.md").section("Triage only reads")

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(registry.AGENTS)


def test_every_file_of_a_run_is_in_the_page(named: Callable[[str], Any]):
    text = named("docs/agents.md").section("The folder of a run")

    assert [name for name in constants(run_folder).values() if f"`{name}`" not in text] == []


def test_the_troubles_that_the_page_names_exist(named: Callable[[str], Any]):
    text = named("docs/agents.md").section("Failures, usage limits and cost")

    said = re.search(r"failure with a name: (.*?) and so on", text, re.DOTALL)
    assert said is not None
    assert set(re.findall(r"`(\w+)`", said[1])) <= set(get_args(ErrorKind))
