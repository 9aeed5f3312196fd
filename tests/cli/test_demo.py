"""The story of `prloom demo`; tests/acceptance runs it."""

from __future__ import annotations

import shlex

import pytest

from prloom.cli import demo
from prloom.cli.demo import DemoStep
from prloom.errors import PrloomError
from prloom.workspace import git


@pytest.mark.parametrize("step", demo.STORY, ids=[str(number) for number in range(len(demo.STORY))])
def test_what_is_told_and_typed_fits_on_80_columns(step: DemoStep) -> None:
    typed = [f"$ {shlex.join(args)}" for args in step.commands]

    assert [line for line in (*step.told.splitlines(), *typed) if len(line) > 80] == []


def test_the_files_fit_on_80_columns() -> None:
    assert [line for text in demo.FILES.values() for line in text.splitlines() if len(line) > 80] == []


def test_a_story_that_did_not_come_to_its_end_is_an_error() -> None:
    root = demo.make_repository()
    git.run(["branch", demo.PLAN], cwd=root)

    with pytest.raises(PrloomError, match=rf"the demo made 0 of its 2 commits; .* run `prloom status` in {root}$"):
        demo.require_end(root)
