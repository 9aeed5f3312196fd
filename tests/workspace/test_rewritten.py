"""What a requested rebase has rewritten, until the remote has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.workspace import rewritten
from prloom.workspace.rewritten import Rewrite

if TYPE_CHECKING:
    from conftest import Project

    from prloom.workspace.repository import Repository


def three(project: Project) -> tuple[str, ...]:
    return tuple(project.commit({"x": text}) for text in "abc")


def test_a_second_rewrite_counts_from_what_the_remote_has(project: Project, repo: Repository) -> None:
    first, second, third = three(project)

    rewritten.note(repo, "feature", Rewrite(first, second))
    rewritten.note(repo, "feature", Rewrite(second, third))

    assert rewritten.read(repo, "feature") == Rewrite(first, third)


def test_a_rewrite_that_is_taken_back_leaves_the_one_before_it(project: Project, repo: Repository) -> None:
    first, second, third = three(project)
    rewritten.note(repo, "feature", Rewrite(first, second))
    rewritten.note(repo, "feature", Rewrite(second, third))

    rewritten.take_back(repo, "feature", second)
    assert rewritten.read(repo, "feature") == Rewrite(first, second)

    rewritten.take_back(repo, "feature", first)
    assert rewritten.read(repo, "feature") is None
