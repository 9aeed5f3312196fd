"""plan.md, which people and prloom write together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prloom.engine.bus.plan_files import PlanFile, text_digest
from prloom.model.decision import Decision, PlanText, Todo
from prloom.model.state import DispatchState
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def local(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "local") as opened:
        yield opened


def rewriting(before: str, after: str) -> Decision:
    return Decision(seq=1, stage="beforeTriage", by="p", plan=PlanText(base=text_digest(before), text=after))


def asking(*titles: str) -> Decision:
    todos = tuple(Todo(id=f"t-{title}", title=title) for title in titles)
    return Decision(seq=1, stage="triage", by="agent", todos=todos)


def test_a_hooks_plan_replaces_the_text_that_it_had_seen(local: SafeDir, tmp_path: Path):
    file = tmp_path / "local/plan.md"
    file.write_text("old\n")

    PlanFile(local).apply(rewriting("old\n", "new\n"), DispatchState())
    PlanFile(local).apply(rewriting("old\n", "new\n"), DispatchState())

    assert file.read_text() == "new\n"
    assert local.names() == ("plan.md",)


def test_what_a_person_wrote_meanwhile_stays_and_the_hooks_text_is_beside_it(local: SafeDir, tmp_path: Path):
    file = tmp_path / "local/plan.md"
    file.write_text("mine\n")

    PlanFile(local).apply(rewriting("old\n", "new\n"), DispatchState())

    assert file.read_text() == "mine\n"
    (aside,) = [name for name in local.names() if name.startswith("plan.md.hook-")]
    assert (tmp_path / "local" / aside).read_text() == "new\n"


def test_a_todo_is_appended_once(local: SafeDir, tmp_path: Path):
    for _ in range(2):
        PlanFile(local).apply(asking("rename it"), DispatchState())

    assert (tmp_path / "local/plan.md").read_text().count("rename it") == 1


def test_a_todo_leaves_every_byte_of_a_persons_text_as_it_is(local: SafeDir, tmp_path: Path):
    file = tmp_path / "local/plan.md"
    file.write_bytes(b"caf\xe9 in latin-1\n")

    PlanFile(local).apply(asking("rename it"), DispatchState())

    assert file.read_bytes().startswith(b"caf\xe9 in latin-1\n")


def test_the_permissions_that_a_person_gave_the_file_are_kept(local: SafeDir, tmp_path: Path):
    file = tmp_path / "local/plan.md"
    file.write_text("")
    file.chmod(0o640)

    PlanFile(local).apply(asking("rename it"), DispatchState())

    assert file.stat().st_mode & 0o777 == 0o640


def test_a_decision_without_plan_and_todos_touches_nothing(local: SafeDir):
    PlanFile(local).apply(Decision(seq=1, stage="intake", by="prloom"), DispatchState())

    assert local.names() == ()


def test_bytes_that_are_no_text_are_shown_as_such(local: SafeDir, tmp_path: Path):
    (tmp_path / "local/plan.md").write_bytes(b"caf\xe9")

    assert PlanFile(local).read() == "caf\N{REPLACEMENT CHARACTER}"


def test_a_text_that_is_no_utf_8_is_a_problem(local: SafeDir, tmp_path: Path):
    (tmp_path / "local/plan.md").write_bytes(b"# A\n\xff\xfe")

    assert PlanFile(local).problem() == "plan.md: byte 4 is not UTF-8 text; save the file as UTF-8"
