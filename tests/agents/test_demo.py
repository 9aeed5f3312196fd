"""The demo's agent, with prompts as prloom writes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prloom.agents import demo
from prloom.core.answers import json_answer, review_answer, triage_answer, worker_answer
from prloom.core.answers.review_answer import ReviewAnswer
from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.plans.plan_file import TodoItem
from prloom.core.prompts import review_prompt, triage_prompt, worker_prompt
from prloom.model.event import Event
from prloom.model.plan import Plan

FENCE = "f" * 32
GREET = 'def greet(name):\n    return f"Hello, {name}!"\n'
POLITE = 'Replace "Hello" with "Good day" in greet.py'


def asked(
    title: str, context: str = "", *, checks: tuple[str, ...] = (), failure: str | None = None, notes: str = ""
) -> str:
    todo = TodoItem(id="t-1", title=title, context=context)
    return worker_prompt.worker_prompt(
        plan_title="Greet", plan_text="Why.", todo=todo, fence=FENCE, checks=checks, failure=failure, notes=notes
    )


def work(text: str, folder: Path) -> WorkAnswer:
    said = worker_answer.read(demo.respond(text, folder))  # type: ignore[arg-type]
    assert isinstance(said, WorkAnswer)
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "greet.py").write_text(GREET)
    return tmp_path


def test_a_replacement_is_carried_out(folder: Path) -> None:
    said = work(asked(POLITE), folder)

    assert (said.outcome, said.commit_message) == ("done", POLITE)
    assert (folder / "greet.py").read_text() == GREET.replace("Hello", "Good day")


def test_where_there_are_checks_the_first_attempt_is_wrong_and_the_second_right(folder: Path) -> None:
    assert work(asked(POLITE, checks=("make test",)), folder).outcome == "done"
    assert (folder / "greet.py").read_text() == GREET.replace("Hello", "oGod day")

    work(asked(POLITE, checks=("make test",), failure="AssertionError"), folder)

    assert (folder / "greet.py").read_text() == GREET.replace("Hello", "Good day")


def test_a_mistake_is_noted_for_later_todos_which_are_right_at_once(folder: Path) -> None:
    assert work(asked(POLITE, checks=("make test",)), folder).notes == ""
    said = work(asked(POLITE, checks=("make test",), failure="AssertionError"), folder)
    assert said.notes == "Run the checks before you say that a TODO is done."

    later = work(asked('Replace "day" with "evening" in greet.py', checks=("make test",), notes=said.notes), folder)

    assert later.notes == ""
    assert (folder / "greet.py").read_text() == GREET.replace("Hello", "Good evening")


def test_a_replacement_that_holds_the_old_text_is_made_once(folder: Path) -> None:
    longer = 'Replace "Hello" with "Hello, hello" in greet.py'
    work(asked(longer, checks=("make test",)), folder)

    work(asked(longer, checks=("make test",), failure="AssertionError"), folder)

    assert (folder / "greet.py").read_text() == GREET.replace("Hello", "Hello, hello")


def test_what_is_done_already_needs_nothing(folder: Path) -> None:
    work(asked(POLITE), folder)

    assert work(asked(POLITE), folder).outcome == "nothing_to_do"


@pytest.mark.parametrize("file", ["../greet.py", "missing.py", "/etc/passwd"])
def test_a_file_that_is_not_in_the_folder_is_a_question(folder: Path, file: str) -> None:
    (folder / "sub").mkdir()

    said = work(asked(f'Replace "Hello" with "x" in {file}'), folder / "sub")

    assert said.outcome == "blocked"
    assert said.question == f"Which file is `{file}`?"


def test_a_todo_that_is_a_question_is_for_a_person(folder: Path) -> None:
    assert work(asked("Which cache?"), folder).question == "Which cache?"


@pytest.mark.parametrize(("context", "file"), [("It is in greet.py.", "greet.py"), ("", "NOTES.md")])
def test_any_other_todo_is_noted_in_the_file_that_it_names(folder: Path, context: str, file: str) -> None:
    work(asked("Make it fast.", context, checks=("python3 -m compileall .",)), folder)
    assert "Make it fast. (\n" in (folder / file).read_text()

    work(asked("Make it fast.", context, checks=("x",), failure="SyntaxError"), folder)

    assert (folder / file).read_text().endswith("# Make it fast.\n")
    assert "(\n" not in (folder / file).read_text().removeprefix(GREET)


@pytest.mark.parametrize(("diff", "verdict"), [("-a\n+b", "approve"), ("-FIXME\n+b", "approve"), ("+FIXME", "reject")])
def test_a_review_rejects_what_still_says_fixme(folder: Path, diff: str, verdict: str) -> None:
    text = review_prompt.review_prompt(
        plan_title="x", plan_text="", todo=TodoItem(id="t", title="FIXME?"), diff=diff, fence=FENCE
    )

    said = review_answer.read(demo.respond(text, folder))  # type: ignore[arg-type]

    assert isinstance(said, ReviewAnswer)
    assert said.verdict == verdict


def test_feedback_is_answered_or_becomes_a_todo_that_can_be_carried_out(folder: Path) -> None:
    events = [Event(id=str(n), source="s", type="pr_comment", body=text) for n, text in enumerate(("Why?", POLITE))]
    text = triage_prompt.triage_prompt(
        plan=Plan(id="p", branch="b"),
        plan_text="",
        events=events,
        head=None,
        answer_path="/a",
        fence=FENCE,
        repository_context=None,
    )

    read = triage_answer.read(demo.respond(text, folder), ("0", "1"))  # type: ignore[arg-type]

    assert {event: item.verdict for event, item in read.items.items()} == {"0": "answered", "1": "todo"}
    (todo,) = read.todos
    assert work(asked(todo.title, todo.context), folder).outcome == "done"


def test_it_is_a_program_that_works_in_the_folder_where_it_is_started(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "prloom.agents.demo"],
        cwd=folder,
        input=asked(POLITE),
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(ended.stdout) == json_answer.find(ended.stdout, worker_answer.KEY)
    assert "Good day" in (folder / "greet.py").read_text()
