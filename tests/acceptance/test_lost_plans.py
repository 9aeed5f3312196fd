"""A plan that is removed behind prloom's back is not forgotten, and is recovered by the command that is shown."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import command_line
import layouts
import pytest

STRANGER = ("--author", "eve", "--trust", "none")


class Operator:
    """A person at a terminal in a repository with an adopted branch, in which an event is held."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = root / "prloom/.local/worktrees/work"
        self.run("adopt", "--branch", "work")
        self.run("emit", "work", "--body", "Hello", "--id", "h", *STRANGER)
        self.run("start", "--once")

    def run(self, *args: str, code: int | None = 0) -> str:
        ran = command_line.run("-C", str(self.root), *args)
        said = ran.out + ran.err
        assert code in {ran.code, None}, said
        return said

    def status(self) -> Any:
        return json.loads(self.run("status", "--json"))


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv("PRLOOM_PLUGINS__ISOLATION", "inline")
    monkeypatch.setenv("PRLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "400")
    return Operator(layouts.plain(tmp_path))


def test_git_clean_leaves_prlooms_files_alone(operator: Operator) -> None:
    before = operator.status()["plans"]

    for place in (operator.tree, operator.root):
        (place / "scratch").write_text("x")
        layouts.git(place, "clean", "-fdx")
        assert not (place / "scratch").exists()
        assert layouts.git(place, "status", "--porcelain") == ""
        layouts.git(place, "add", "--all")

    after = operator.status()["plans"]
    assert [plan["events"]["held"][0]["id"] for plan in (*before, *after)] == ["h", "h"]


def test_where_a_branch_lets_prlooms_folder_in_git_add_still_works(operator: Operator) -> None:
    layouts.git(operator.root, "checkout", "--quiet", "-b", "odd")
    (operator.root / ".gitignore").write_text("!/prloom/.local/\n")
    layouts.git(operator.root, "add", ".gitignore")
    layouts.git(operator.root, "commit", "--quiet", "--message=odd")
    layouts.git(operator.root, "checkout", "--quiet", "main")

    operator.run("adopt", "--branch", "odd")

    tree = operator.root / "prloom/.local/worktrees/odd"
    layouts.git(tree, "add", "--all")
    assert layouts.git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("lose", ["rm -rf", "git clean -ffdx"])
def test_a_lost_plan_is_shown_and_recovered_by_the_command_that_is_shown(operator: Operator, lose: str) -> None:
    if lose == "rm -rf":
        shutil.rmtree(operator.tree)
    else:
        layouts.git(operator.tree, "clean", "-ffdx")

    (lost,) = operator.status()["lostPlans"]
    assert (lost["id"], lost["counts"]["held"]) == ("work", 1)
    shown = operator.run("status", "--all")
    assert "No plans yet" not in shown
    assert "last known there: 1 held event" in shown
    assert f"`{lost['recover']}`" in shown
    assert f"`{lost['recover']}`" in operator.run("doctor", code=1)
    assert "plan work is lost" in operator.run("emit", "work", "--body", "x", code=1)

    operator.run(*shlex.split(lost["recover"])[1:])

    assert "lostPlans" not in operator.status()
    operator.run("emit", "work", "--body", "Hello again", "--id", "h2", *STRANGER)
    operator.run("start", "--once")
    (plan,) = operator.status()["plans"]
    assert (plan["id"], plan["branch"], plan["events"]["held"][0]["id"]) == ("work", "work", "h2")


def test_plans_are_found_through_git_after_git_clean_has_removed_all_of_prlooms_files(operator: Operator) -> None:
    (operator.root / "prloom.toml").write_text("[presets.fast]\n")
    layouts.git(operator.root, "branch", "feature/login")
    operator.run("adopt", "--branch", "feature/login", "--plan", "login", "--preset", "fast")
    layouts.git(operator.root, "worktree", "add", "--quiet", "../mine", "-b", "mine")
    layouts.git(operator.root, "clean", "-ffdx", "-e", "prloom.toml")
    assert not (operator.root / "prloom").exists()

    login, work = operator.status()["lostPlans"]

    assert login["recover"] == "prloom adopt --branch feature/login --plan login --preset fast"
    assert work["recover"] == "prloom adopt --branch work --plan work"
    assert f"`{work['recover']}`" in operator.run("status", "--all")
    assert f"`{work['recover']}`" in operator.run("doctor", code=1)
    operator.run("forget", "login")
    operator.run(*shlex.split(work["recover"])[1:])
    assert "lostPlans" not in operator.status()
    assert [plan["id"] for plan in operator.status()["plans"]] == ["work"]


def test_plans_of_an_earlier_version_are_found_through_git_by_what_git_knows_of_them(operator: Operator) -> None:
    layouts.git(operator.root, "branch", "topic")
    operator.run("adopt", "--branch", "topic", "--plan", "pr-7")
    for mark in (operator.root / ".git/worktrees").glob("*/prloom-plan"):
        mark.write_text("The worktree of one of prloom's plans.\n")
    layouts.git(operator.root, "clean", "-ffdx", "-e", "prloom.toml")

    recover = [plan["recover"] for plan in operator.status()["lostPlans"]]

    assert recover == ["prloom adopt 7 --plan pr-7", "prloom adopt --branch work --plan work"]


def test_a_plan_whose_worktrees_folder_is_no_longer_configured_is_found_and_can_be_given_up(operator: Operator) -> None:
    config, outside = operator.root / "prloom.toml", operator.root.parent / "trees"
    config.write_text(f'worktrees_dir = "{outside}"\n')
    layouts.git(operator.root, "branch", "topic")
    operator.run("adopt", "--branch", "topic")
    config.write_text("")
    shutil.rmtree(operator.root / "prloom/.local/plans")

    (lost,) = operator.status()["lostPlans"]
    operator.run("forget", "topic")

    assert (lost["id"], lost["recover"]) == ("topic", None)
    assert f"its worktree is in {outside}" in lost["reason"]
    assert "lostPlans" not in operator.status()
    assert (outside / "topic/prloom/.local/state.json").exists()


def test_a_lost_plan_can_be_given_up_and_its_branch_adopted_anew(operator: Operator) -> None:
    shutil.rmtree(operator.tree)

    assert operator.run("forget", "work") == "Plan work is given up. Its branch stays.\n"

    assert "lostPlans" not in operator.status()
    operator.run("adopt", "--branch", "work", "--plan", "other")


def test_a_branch_that_is_adopted_again_gets_the_id_of_its_lost_plan(operator: Operator) -> None:
    operator.run("forget", "work", "--yes")
    operator.run("adopt", "--branch", "work", "--plan", "mine")
    shutil.rmtree(operator.tree.with_name("mine"))

    operator.run("adopt", "--branch", "work")

    assert [plan["id"] for plan in operator.status()["plans"]] == ["mine"]


def test_the_id_of_a_lost_plan_is_not_given_to_another_branch(operator: Operator) -> None:
    layouts.git(operator.root, "branch", "other")
    shutil.rmtree(operator.tree)

    said = operator.run("adopt", "--branch", "other", "--plan", "work", code=1)

    assert said == (
        "prloom: plan work is lost; its branch was work; give it up with `prloom forget work`, "
        "or choose another --plan\n"
    )
    operator.run("adopt", "--branch", "work", "--plan", "new")
    assert "lostPlans" not in operator.status()


def test_open_work_is_listed_and_dropped_only_when_that_is_confirmed(operator: Operator) -> None:
    (operator.tree / "prloom/.local/plan.md").write_text("# x\n\n## TODO\n\n- [ ] Fix the typo\n- [x] done\n")

    said = operator.run("forget", "work", code=1)

    assert said.startswith("Open in plan work:\n  held event h, ")
    assert "  open TODO: Fix the typo\n" in said
    assert "done" not in said
    assert said.endswith(
        "prloom: nothing was removed, because work is open in plan work; `prloom forget work --yes` drops it\n"
    )
    assert operator.tree.exists()

    operator.run("forget", "work", "--yes")

    assert not operator.tree.exists()
    assert "lostPlans" not in operator.status()


def test_a_branch_keeps_its_name_as_the_id_and_is_found_by_it(operator: Operator) -> None:
    for branch in ("pr-01", "feature/login"):
        layouts.git(operator.root, "branch", branch)
        operator.run("adopt", "--branch", branch)

    assert "pr-01" in [plan["id"] for plan in operator.status()["plans"]]
    for command in (["status"], ["events"], ["poll"]):
        operator.run(*command, "feature/login")
    operator.run("emit", "feature/login", "--body", "x")
    assert "did you mean feature-login-" in operator.run("emit", "login", "--body", "x", code=1)
