"""How the dashboard looks on screens of several sizes."""

from __future__ import annotations

import re
from itertools import pairwise

import click
import pytest
from msgspec.structs import replace
from operator_scene import EVIL, NOW, OperatorScene, every_state

from prloom.cli.output import dashboard_text, terminal
from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Dashboard
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Dashboard:
    scene = every_state(OperatorScene(tmp_path_factory.mktemp("repository")))
    for number in range(100, 120):
        scene.plan(f"pr-{number}", "", DispatchState(open={"d": scene.deferred("d")}))
    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        return dashboard.read(scene.where, NOW)


@pytest.fixture
def width(monkeypatch: pytest.MonkeyPatch):
    """Return a function that says how wide the terminal is."""

    def set_width(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    return set_width


@pytest.mark.parametrize("columns", [40, 60, 80, 130])
@pytest.mark.parametrize("rows", [24, 50])
def test_it_fits_on_the_screen_whatever_there_is_to_show(shown: Dashboard, width, columns: int, rows: int) -> None:
    width(columns)
    above = list(dashboard_text.header(shown))

    lines = dashboard_text.screen(shown, above, rows)

    assert len(lines) <= rows
    assert max(map(terminal.columns_of, lines)) <= columns
    assert not set("".join(lines).replace("\x1b[", "")) & {"\x07", "\u202e"}


@pytest.mark.parametrize(("columns", "rows", "least"), [(40, 24, 2), (80, 24, 4), (130, 50, 14)])
def test_each_part_shows_an_entry_and_counts_the_others(
    shown: Dashboard, width, columns: int, rows: int, least: int
) -> None:
    width(columns)

    lines = list(map(click.unstyle, dashboard_text.screen(shown, [], rows)))

    assert len(lines) >= rows - 2
    titles = [place for place, line in enumerate(lines) if re.match(r"(Needs you|Working|Waiting|Plans) \(", line)]
    sections = [lines[start:end] for start, end in pairwise([*titles, len(lines)])]
    assert [section[0].split()[0] for section in sections] == ["Needs", "Working", "Waiting", "Plans"]
    assert all(section[1].startswith("  ") and "… and " not in section[1] for section in sections)
    entries = [part.entries for part in dashboard_text.parts(shown)]
    for (title, *some), every in zip(sections, entries, strict=True):
        cut = re.fullmatch(r"  … and (\d+) more, `prloom status --all`", some[-1])
        left = 0
        if cut:
            left = int(cut[1])
        assert some[: len(some) - bool(cut)] == [
            click.unstyle(line) for entry in every[: len(every) - left] for line in entry
        ], title
    assert len(re.findall("`prloom ", "".join(sections[0]))) > least


@pytest.mark.parametrize("columns", [40, 60, 80, 130])
def test_no_need_takes_the_screen_and_its_command_is_whole(shown: Dashboard, width, columns: int) -> None:
    width(columns)

    entries = [[click.unstyle(line) for line in entry] for entry in dashboard_text.parts(shown)[0].entries]

    assert max(map(len, entries)) <= 3
    assert all(line.count("`") in {0, 2, 4} for entry in entries for line in entry)
    assert all(re.search("`prloom [^`]+`", entry[-1]) for entry in entries)
    odd = next(entry for entry in entries if "pr-8 " in entry[0])
    assert ("`prloom status pr-8` tells how" in odd[-1]) == (columns < 130)


@pytest.mark.parametrize("columns", [40, 80, 130])
def test_where_all_is_wanted_no_text_of_what_goes_on_and_waits_is_cut(shown: Dashboard, width, columns: int) -> None:
    width(columns)

    lines = [click.unstyle(line) for line in dashboard_text.progress(shown)]

    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    for wait in shown.waiting:
        assert f"{wait.reason}: {wait.text}" in text
    assert text.count("`prloom logs pr-") == 2


@pytest.mark.parametrize("columns", [40, 50, 59, 80, 130])
def test_what_goes_on_has_its_stage_and_its_age_however_narrow_the_screen_is(
    shown: Dashboard, width, columns: int
) -> None:
    width(columns)
    working = dashboard_text.parts(shown)[1]

    first_lines = [click.unstyle(entry[0]).split() for entry in working.entries]

    assert len(first_lines) == len(shown.working)
    for words, each in zip(first_lines, shown.working, strict=True):
        assert words[:2] == [each.plan or "repository", each.stage]
        assert each.age_ms is None or terminal.age(each.age_ms).split()[0] in words


@pytest.mark.parametrize("columns", [40, 130])
def test_a_plan_in_which_something_waits_has_an_age_however_narrow_the_screen_is(
    shown: Dashboard, width, columns: int
) -> None:
    width(columns)

    lines = [click.unstyle(line) for (line,) in dashboard_text.parts(shown)[3].entries]

    assert [line for line in lines if "1 deferred" in line and " for " not in line] == []


def test_every_entry_is_there_where_the_screen_scrolls_and_what_is_cut_is_counted(shown: Dashboard, width) -> None:
    width(200)

    whole = dashboard_text.whole(shown, [])
    some = dashboard_text.screen(shown, [], 30)

    assert sum(f"pr-{number} " in line for line in whole for number in range(100, 120)) == 40
    assert len([line for line in some if "more, `prloom status --all`" in line]) >= 2


def test_the_header_says_who_works_and_what_it_took_today(shown: Dashboard) -> None:
    text = click.unstyle(" ".join(dashboard_text.header(shown)))

    assert text.startswith("dispatcher running, pid ")
    assert "github: last success 12 s ago · gitea: fails, last success 1 h ago" in text
    assert text.endswith("2 runs now · today 4 runs, 3.3 k tokens, $1.50 (1 run reported no tokens)")


def test_text_from_outside_is_inert(shown: Dashboard) -> None:
    text = "\n".join(dashboard_text.whole(shown, list(dashboard_text.header(shown))))

    assert EVIL not in text
    assert terminal.clean(EVIL) in text


def test_three_hundred_plans_are_thirty_lines_and_a_count_in_a_pipe(shown: Dashboard) -> None:
    (line,) = [plan for plan in shown.plans if plan.id == "pr-5"]
    many = replace(shown, needs=(), working=(), waiting=(), plans=(line,) * 300)

    lines = dashboard_text.screen(many, [], None)

    assert lines.count(lines[2]) == 30
    assert click.unstyle(lines[-1]) == "  … and 270 more, `prloom status --all`"


def test_the_time_until_something_is_not_cut_to_its_largest_unit(shown: Dashboard) -> None:
    waits = replace(shown, waiting_next_ms=118 * 60_000, waiting_oldest_ms=None)

    assert dashboard_text.waiting_title(waits).endswith("; next in 1 h 58 min)")
