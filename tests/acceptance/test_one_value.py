"""One value behind `status`, its JSON, `top` and the page: each shows the same entries, counts, names and ages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple, get_args

import click
import git_folder
import pytest
import whole_page
from all_states import ALL, AllStates, StateName
from click.testing import CliRunner
from operator_scene import OperatorScene
from web_browser import Browser, Time

from prloom.cli import main
from prloom.cli.context import Options
from prloom.cli.output import dashboard_text, terminal
from prloom.config import loading
from prloom.engine.views import dashboard_words
from prloom.engine.views.dashboard_schema import (
    Dashboard,
    FullStatus,
    Need,
    NeedKind,
    PlanLine,
    Source,
    Wait,
    WaitKind,
    Working,
)
from prloom.model import record
from prloom.storage import json_codec, paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.health_file import HEALTH, HealthFile
from prloom.storage.safe_dir import SafeDir
from prloom.top import rows
from prloom.top.actions import Operator
from prloom.top.app import TopApp
from prloom.top.panes import Pane
from prloom.web.sessions import Sessions
from prloom.web.site import Site

SURFACES = ("status", "top", "web")
VOID = frozenset({"input", "br", "meta", "link"})


class Rows(HTMLParser):
    """The rows of a page by their section, each as its text on one line."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {name: [] for name in rows.PANES}
        self._section = ""
        self._depth = 0
        self._words: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self._section = given.get("id") or ""
        if self._depth and tag not in VOID:
            self._depth += 1
        elif "data-key" in given and self._section in self.found:
            self._depth, self._words = 1, []

    def handle_endtag(self, tag: str) -> None:
        if not self._depth:
            return
        self._depth -= 1
        if not self._depth:
            self.found[self._section].append(" ".join("".join(self._words).split()))

    def handle_data(self, data: str) -> None:
        self._words.append(data)


class Shown(NamedTuple):
    """What `--json` has, and the rows of each pane as each other surface shows them."""

    value: Dashboard
    rows: Mapping[str, Mapping[str, Sequence[str]]]
    heads: Mapping[str, str]
    document: object


def look(scene: OperatorScene) -> Shown:
    """Look at a repository through all four surfaces, at the moment of the first one."""
    with CliRunner().isolation() as (out, _, _):
        assert main.run(main.cli, ["-C", str(scene.root), "status", "--json"]) == 0
        document = record.from_wire(FullStatus, json_codec.decode(out.getvalue()))
    value = document.dashboard
    time = Time()
    time.now = value.at
    site = Site(scene.where, lambda: loading.load(scene.root, {}), {}, time)
    with Browser(site, Sessions(time)).let_in() as browser:
        page, served = browser.get("/").text, browser.json("/")
    read = Rows()
    read.feed(page)
    screen, head = asyncio.run(top(scene, time))
    parts = dashboard_text.parts(value)
    text = {
        name: [" ".join(" ".join(entry).split()) for entry in part.entries]
        for name, part in zip(rows.PANES, parts, strict=True)
    }
    heads = {"status": click.unstyle(" ".join(dashboard_text.header(value))), "top": head, "web": whole_page.text(page)}
    return Shown(value, {"status": text, "top": screen, "web": read.found}, heads, served)


async def top(scene: OperatorScene, time: Time) -> tuple[dict[str, list[str]], str]:
    """Return the rows of each pane of the full screen, and its header."""
    app = TopApp(Operator(scene.where, Options(str(scene.root))), clock=time)
    async with app.run_test(size=(200, 60)):
        panes = {name: app.main.query_one(f"#{name}", Pane) for name in rows.PANES}
        found = {name: [str(option.prompt) for option in pane.options] for name, pane in panes.items()}
        return found, str(app.main.query_one("#header").render())


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Return what is shown of a repository with something in every state, while a dispatcher runs that has trouble."""
    begun = of_today()
    found = look_at_all_states(tmp_path_factory.mktemp("states"), begun)
    if found.value.at.date() == begun.date():
        return found
    return look_at_all_states(tmp_path_factory.mktemp("states"), of_today())  # the runs were those of yesterday


def of_today() -> datetime:
    """Return the present time, but for the first minute of a day: the runs that began a minute ago are of today."""
    return max(now(), now().replace(hour=0, minute=1, second=0, microsecond=0))


def look_at_all_states(root: Path, moment: datetime) -> Shown:
    scene = OperatorScene(root, moment)
    git_folder.make(scene.root / ".git")
    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        health = HealthFile(local)
        health.report("the disk is full")
        scene.age(Path(local.where(HEALTH)), hours=1.5)
        AllStates(scene).write()
        found = look(scene)
        health.close()
    return found


def age(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return terminal.age(milliseconds)


def words(entry: Need | Working | Wait | PlanLine) -> list[str]:
    """Return what each surface has to say of an entry."""
    match entry:
        case Need():
            return [age(entry.age_ms), entry.plan or "", entry.kind, entry.text]
        case Working():
            told = [entry.agent or "", entry.title or "", dashboard_words.step(entry), *dashboard_words.efforts(entry)]
            return [age(entry.age_ms), entry.plan, *told]
        case Wait():
            ends = ""
            if entry.ends_in_ms is not None:
                ends = f"in {age(entry.ends_in_ms)}"
            return [age(entry.age_ms), entry.plan or "repository", entry.kind, ends, entry.reason, entry.text]
        case PlanLine():
            done = ""
            if entry.todos:
                done = f"{entry.done}/{entry.todos}"
            return [entry.id, dashboard_words.state(entry), done, *dashboard_words.counts(entry)]


def entries(value: Dashboard) -> Mapping[str, Sequence[Need | Working | Wait | PlanLine]]:
    return {"needs": value.needs, "working": value.working, "waiting": value.waiting, "plans": value.plans}


def lacking(shown: Shown, pane: str, surface: str) -> list[tuple[str, list[str]]]:
    """Return the rows of a surface that lack something that the value says of their entries."""
    wanted, found = entries(shown.value)[pane], shown.rows[surface][pane]
    assert len(found) == len(wanted)
    compared = [
        (row, [each for each in words(entry) if each not in row]) for entry, row in zip(wanted, found, strict=True)
    ]
    return [(row, missing) for row, missing in compared if missing]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("pane", rows.PANES)
def test_each_surface_shows_each_entry_of_the_value_in_its_order_with_its_age_and_reason(
    shown: Shown, pane: str, surface: str
) -> None:
    assert lacking(shown, pane, surface) == []


NEEDS: Mapping[str, NeedKind] = {
    "event-held": "held",
    "event-parked": "parked",
    "action-failed": "failed",
    "action-withheld": "withheld",
    "action-draft": "draft",
    "action-braked": "brake",
    "todo-blocked": "parked",
    "todo-proposed": "proposed",
    "todo-braked": "brake",
    "todo-question": "blocked",
    **{each.id: "blocked" for each in ALL if each.kind == "block"},
    "plan-kept": "kept",
    "plan-lost": "lost",
    "plan-unreadable": "blocked",
    "plan-failing": "error",
    "request-confirm": "confirm",
    "request-question": "question",
    "daemon-given-up": "plugin",
    "daemon-unset": "settings",
    "plugin-error": "plugin",
    "bridge-error": "bridge",
    "bridge-last-ok-at": "bridge",
    "bridge-warnings": "source",
}
"""What each state that waits for a person needs; no other state does."""

WAITS: Mapping[str, WaitKind] = {
    "event-deferred": "deferred",
    "todo-waiting": "todo",
    "plan-pr-waiting": "pull request",
    "plan-fetching-base": "draft",
    "action-retrying": "action",
    "session-shell": "session",
    "session-agent": "session",
    "agent-awaited": "agent",
    "daemon-error": "plugin",
}
"""What each state that ends by itself waits for."""

PENDING = ("event-pending", "plan-failing", "hook-running", "agent-awaited", "run-triage")
"""The plans in which an event is pending."""

WORKS = ("run-running", "run-queued", "run-triage", "hook-running", *(each.id for each in ALL if each.kind == "phase"))
"""The states in which something goes on."""

COUNTS: Mapping[str, str] = {
    "event-pending": "1 pending",
    "plan-failing": "1 pending",
    "event-deferred": "1 deferred",
    "event-held": "1 held",
    "event-parked": "1 parked",
    "action-queued": "1 queued",
    "action-retrying": "1 queued",
    "action-braked": "1 queued",
    "action-released": "1 queued",
    "action-lifted": "1 queued",
    "action-failed": "1 failed",
    "action-draft": "1 to send",
    "todo-blocked": "1 parked",
    "todo-done": "1/1",
    "todo-open": "0/1",
    "plan-active": "active",
    "plan-review": "review",
    "plan-paused": "paused",
    "plan-merged": "merged",
    "plan-closed": "closed",
    "plan-draft": "draft",
    "plan-queued": "queued",
    "block-branch": "blocked",
}
"""What the line of the plan says of a state, where that tells it from a plan in which nothing waits."""


def kind_of(shown: Shown, pane: str, name: StateName) -> list[str]:
    """Return of what kinds the entries of a pane are that are about a state."""
    found = entries(shown.value)[pane]
    return [each.kind for each in found if not isinstance(each, PlanLine) and is_about(each, name)]


def is_about(entry: Need | Working | Wait, name: StateName) -> bool:
    ids = ()
    if isinstance(entry, Need):
        ids = entry.ids
    elif isinstance(entry, Wait):
        ids = (entry.id,)
    return name.id in {entry.plan, *ids}


@pytest.mark.parametrize("name", ALL, ids=lambda name: name.id)
def test_each_state_is_found_where_it_belongs_on_each_surface(shown: Shown, name: StateName) -> None:
    needed, awaited = NEEDS.get(name.id), WAITS.get(name.id)

    assert kind_of(shown, "needs", name) == [needed] * (needed is not None)
    assert kind_of(shown, "waiting", name) == [awaited] * (awaited is not None)
    assert bool(kind_of(shown, "working", name)) == (name.id in WORKS)
    for surface in SURFACES:
        lines = [line for line in shown.rows[surface]["plans"] if name.id in line.replace("(", " ").split()]
        assert all(COUNTS.get(name.id, "") in line for line in lines), surface
        for pane, expected in (("needs", needed), ("waiting", awaited), ("working", name.id in WORKS or None)):
            assert any(name.id in row for row in shown.rows[surface][pane]) == (expected is not None), (surface, pane)


def test_each_kind_of_need_and_of_wait_is_in_the_repository(shown: Shown) -> None:
    assert {need.kind for need in shown.value.needs} == {*get_args(NeedKind)} - {"stalled", "config"}
    assert {wait.kind for wait in shown.value.waiting} == {*get_args(WaitKind)}
    assert {each.kind for each in shown.value.working} == {"run", "hook", "step"}


def test_everything_that_needs_a_person_has_an_age_and_the_oldest_comes_first(shown: Shown) -> None:
    first, *others = shown.value.needs
    ages = [need.age_ms or 0 for need in others]

    assert [need.key for need in shown.value.needs if need.age_ms is None] == []
    assert first.kind == "dispatcher"
    assert ages == sorted(ages, reverse=True)
    assert len(set(ages)) > 2


def test_everything_that_waits_has_an_age(shown: Shown) -> None:
    assert [wait.id for wait in shown.value.waiting if wait.age_ms is None] == []


def test_the_age_of_a_plan_is_that_of_what_has_waited_longest_in_it(shown: Shown) -> None:
    ages: dict[str, list[int]] = {}
    for each in (*shown.value.needs, *shown.value.waiting):
        ages.setdefault(each.plan or "", []).append(each.age_ms or 0)
    lines = {line.id: line.age_ms for line in shown.value.plans}

    assert {id_: lines[id_] for id_ in ages if id_ in lines and id_ not in PENDING} == {
        id_: max(found) for id_, found in ages.items() if id_ in lines and id_ not in PENDING
    }
    assert {age(lines[id_]) for id_ in PENDING} == {"2 h"}
    assert {age(lines[id_]) for id_ in ("block-branch", "action-braked", "todo-proposed")} == {"2 h"}
    assert lines["plan-active"] is None


def ageless(document: object) -> object:
    """Return a document without its ages in milliseconds: the moment of the command is written in whole ones."""
    match document:
        case dict():
            return {name: ageless(each) for name, each in document.items() if not name.endswith("Ms")}
        case list() | tuple():
            return [ageless(each) for each in document]
    return document


def test_the_page_serves_the_value_of_the_command(shown: Shown) -> None:
    assert ageless(shown.document) == ageless(record.to_wire(shown.value))


def of_source(source: Source) -> str:
    """Return how each surface begins to speak of a bridge."""
    told = f"{source.name}: "
    if source.error is not None:
        told += "fails, "
    if source.last_ok_age_ms is not None:
        return f"{told}last success {age(source.last_ok_age_ms)} ago"
    return told


@pytest.mark.parametrize("surface", SURFACES)
def test_each_surface_says_whether_prloom_is_at_work_and_what_that_took_today(shown: Shown, surface: str) -> None:
    head, value = shown.heads[surface], shown.value
    told = [f"pid {os.getpid()}", f"{value.runs_now} runs now", f"{value.today.runs} runs", "$2.50"]
    told += map(of_source, value.sources)

    assert [words for words in told if words not in head] == []


def test_a_repository_in_which_nothing_moves_and_whose_configuration_is_wrong_says_so_on_each_surface(
    tmp_path: Path,
) -> None:
    git_folder.make(tmp_path / ".git")
    scene = OperatorScene(tmp_path, now())
    config = tmp_path / "prloom.toml"
    config.write_text("nonsense = 1\n")
    scene.age(config, hours=3.5)
    local = scene.plan("pr-1", "- [ ] one\n")
    scene.report(paths.WORK, {"stallAfterMs": 1000})
    scene.age(local / paths.PLAN_TEXT, *(local / paths.BUS).glob("*.jsonl"), hours=5.5)

    shown = look(scene)

    assert [(need.kind, age(need.age_ms)) for need in shown.value.needs] == [("config", "3 h"), ("stalled", "5 h")]
    for surface in SURFACES:
        assert lacking(shown, "needs", surface) == []
        assert "ispatcher not running" in shown.heads[surface]
