"""Finding the plan that somebody named."""

from __future__ import annotations

import pytest
from stage import Stage

from prloom.engine.bus import inbox
from prloom.engine.views import plan_names
from prloom.errors import PrloomError
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def named(stage: Stage) -> Stage:
    stage.adopt("pr-7", branch="feature/login", pr=7)
    stage.adopt("pr-01-0e7ed528", branch="pr-01", pr=None, forge=None)
    stage.adopt("12", branch="twelve", pr=None, forge=None)
    stage.adopt("docs", branch="docs", pr=12)
    return stage


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pr-7", "pr-7"),
        ("7", "pr-7"),
        ("#7", "pr-7"),
        ("feature/login", "pr-7"),
        ("pr-01", "pr-01-0e7ed528"),
        ("12", "12"),
        ("#12", "docs"),
    ],
)
def test_a_plan_is_found_by_its_id_its_number_and_its_branch(named: Stage, name: str, found: str) -> None:
    assert plan_names.find(named.paths, name) == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("login", "no plan login; did you mean pr-7?"),
        ("doc", "no plan doc; did you mean docs?"),
        ("dcos", "no plan dcos; did you mean docs?"),
        ("0e7ed528", "no plan 0e7ed528; did you mean pr-01-0e7ed528?"),
        ("zzzzz", "no plan zzzzz; the plans are 12, docs, pr-01-0e7ed528, pr-7"),
        ("\x1b", "no plan \\x1b; the plans are 12, docs, pr-01-0e7ed528, pr-7"),
    ],
)
def test_a_name_that_no_plan_has_comes_with_a_suggestion(named: Stage, name: str, said: str) -> None:
    with pytest.raises(PrloomError) as caught:
        plan_names.find(named.paths, name)

    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Idea", "idea is a draft, and nothing was done on it yet; `prloom queue idea` starts the work"),
        (
            "---\nstatus: queued\n---\n# Idea",
            "idea is queued, and nothing was done on it yet; `prloom start` runs the dispatcher",
        ),
    ],
)
def test_a_draft_is_said_to_be_one_with_the_command_that_begins_it(stage: Stage, text: str, said: str) -> None:
    with SafeDir.make(stage.paths.root, *paths.LOCAL, paths.INBOX) as drafts:
        inbox.put(drafts, "idea", text)

    with pytest.raises(PrloomError) as caught:
        plan_names.find(stage.paths, "idea")

    assert str(caught.value) == said


def test_a_name_that_several_plans_have_is_not_guessed(named: Stage) -> None:
    named.adopt("again", branch="other", pr=7)

    with pytest.raises(PrloomError, match="7 is the name of several plans; give the id of one: again, pr-7"):
        plan_names.find(named.paths, "7")


def test_a_plan_that_cannot_be_read_hides_no_other(named: Stage) -> None:
    (named.local("docs") / "state.json").write_text("{")

    assert plan_names.find(named.paths, "docs") == "docs"
    assert plan_names.find(named.paths, "feature/login") == "pr-7"
