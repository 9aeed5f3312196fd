"""What the keys do, without the screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from project import Project
from stage import Stage, said
from workbench import Run, Workbench

from prloom.api import Author, Target
from prloom.cli.context import Options
from prloom.engine.operator import submission
from prloom.engine.views.dashboard_schema import Need
from prloom.errors import PrloomError
from prloom.top.actions import Operator
from prloom.top.rows import Subject

KEY = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


def operator(stage: Stage) -> Operator:
    return Operator(stage.paths, Options(str(stage.root)))


async def test_an_approval_is_for_the_text_that_was_shown_and_for_no_other(stage: Stage, pr_7: Path) -> None:
    await stage.take_in(said("c-1", "please", author=Author("eve", "none")))
    at_the_screen = operator(stage)
    shown = at_the_screen.approval(Subject("c-1", "pr-7", events=("c-1",)))
    assert shown.text == "c-1  pr_comment by eve, plan pr-7\n  │ please"

    at_the_screen.approve(shown._replace(digests={"c-1": "the digest of a text that was shown earlier"}))
    await stage.tick()
    assert stage.open()["c-1"]["state"] == "held"

    at_the_screen.approve(shown)
    await stage.tick()
    assert stage.fate("c-1")[-1] == "triaged"


async def test_what_is_withheld_is_shown_without_its_secret_before_it_is_sent(stage: Stage, pr_7: Path) -> None:
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": e.id, "verdict": "answered", "reply": f"Use {KEY}"} for e in batch],
        "todos": [],
    }
    await stage.take_in(said("a", reply_to=Target("forge", {"thread": "a"})))
    (action,) = stage.state()["queue"]

    shown = operator(stage).approval(Subject(action, "pr-7", actions=(action,)))

    assert (shown.digests, shown.withheld) == ({}, [action])
    assert shown.text == f"{action}  comment to forge, plan pr-7\n  │ Use [secret]"


async def test_a_draft_is_sent_with_the_text_that_was_shown_and_with_no_other(stage: Stage, pr_7: Path) -> None:
    stage.configure('[outbox]\ntrusted = "draft"\n')
    await stage.take_in(said("c-1", reply_to=Target("forge", {"thread": "c-1"})))
    (draft,) = stage.state()["queue"]
    at_the_screen = operator(stage)
    need = Need(key=draft, kind="draft", plan="pr-7", text="", commands=())
    subject = Subject(draft, "pr-7", need=need, actions=(draft,))
    shown = at_the_screen.drafts(subject)
    assert shown.text == f"{draft}  to forge, plan pr-7, answers c-1\n  │ re c-1"

    submission.submit(stage.paths, "draft_edit", [draft], reason="Not so fast")
    at_the_screen.send(shown)
    await stage.tick()
    assert stage.state()["queue"][draft]["draft"]

    at_the_screen.send(at_the_screen.drafts(subject))
    await stage.tick()
    assert [post.partition("\n\n<!--")[0] for post in stage.bridge.posts] == ["Not so fast"]
    with pytest.raises(PrloomError, match=f"^{draft}: there is no such draft any more"):
        at_the_screen.drafts(subject)


async def test_a_plan_is_not_resumed_while_the_changes_that_block_it_are_in_its_worktree(
    bench: Workbench,
) -> None:
    (bench.worktree / "fast.py").write_text("mine\n")
    await bench.tick()
    assert bench.state.block is not None

    with pytest.raises(PrloomError, match=r"still has changes .* fast\.py; `prloom resume work --commit` keeps them"):
        operator(bench.stage).resume(Subject("work", "work"))

    (bench.worktree / "fast.py").unlink()
    assert operator(bench.stage).resume(Subject("work", "work")) == "Resumed: work."


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(Project(tmp_path / "project"), tmp_path / "bench")
    bench.script(Run({"fast.py": "fast\n"}))
    bench.todo("## TODO", "- [ ] Make it fast")
    yield bench
    bench.pools.close()
