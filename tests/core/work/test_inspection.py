"""What no commit may contain: each violation is one sentence with the file, the rule and the limit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from prloom.core.work import inspection
from prloom.core.work.inspection import InspectionRules

TOKEN = "ghp_" + "q7Lx" + "0ZtR4mVb2KwY8sNd" * 2


@dataclass(frozen=True)
class APath:
    path: str
    status: str = "added"
    mode: int = 0o100644
    size: int = 10
    link_target: str | None = None
    problem: str | None = None


def found(*changed: APath, rules: InspectionRules | None = None, **others: object) -> list[str]:
    given = {"lines": 1, "added": {}, "links": {}, "secrets": {}, **others}
    return list(inspection.violations(changed, rules=rules or InspectionRules(), **given))  # type: ignore[arg-type]


def test_a_usual_change_has_no_violation():
    links = {"current": "v2"}
    paths = (APath("src/a.py"), APath("old.py", "deleted", 0, 0), APath("current", mode=0o120000, link_target="v2"))

    assert found(*paths, links=links, added={"src/a.py": "print()\n"}) == []


def test_a_link_that_leads_out_is_one():
    assert found(APath("a", mode=0o120000, link_target="../../x"), links={"a": "../../x"}) == [
        "a is a symbolic link to ../../x, which is outside the worktree"
    ]


def test_an_old_link_is_none_unless_the_change_leads_it_elsewhere():
    old = {"old": "/usr/share/x", "via": "d/../x"}

    assert found(APath("new.py"), links=old) == []
    assert found(APath("a/d", mode=0o120000, link_target=".."), links={"a/v": "d/../../x", "a/d": ".."}) == [
        "a/v is a symbolic link to d/../../x, which is outside the worktree"
    ]


@pytest.mark.parametrize(
    "path", ["prloom/worker.md", "PRLOOM/plugins/x.py", "prl\u200coom/x", "prloom", "prloom. ", "prloom::$DATA"]
)
def test_prlooms_own_folder_is_not_for_workers(path: str):
    (said,) = found(APath(path))

    assert said.endswith("was added, and prloom's own folder is not for workers")


def test_a_folder_of_a_similar_name_is_for_workers():
    assert found(APath("prloom_docs/x.md"), APath("src/prloom/x.py")) == []


@pytest.mark.parametrize(
    "target", [".claude", ".github/workflows/ci.yml", "guide", ".GITHUB", "pkg/AGENTS.md", "GEMINI.md"]
)
def test_a_new_link_to_a_protected_path_is_not_committed(target: str):
    (said,) = found(
        APath("x", mode=0o120000, link_target=target), links={"guide": ".claude/skills", "GEMINI.md": "docs/GUIDE.md"}
    )

    assert said.startswith(f"x is a symbolic link to {target}, and ")
    assert said.endswith(" is protected ([work] protected)")


def test_an_old_link_to_a_protected_path_stays():
    assert found(APath("new.py"), links={"x": ".claude", "CLAUDE.md": "AGENTS.md"}) == []


@pytest.mark.parametrize("path", ["docs/GUIDE.md", "Docs/guide.md", "tools/skills/review.md"])
def test_what_a_protected_link_leads_to_is_protected(path: str):
    links = {"CLAUDE.md": "docs/GUIDE.md", ".claude/skills": "../tools/skills"}
    (said,) = found(APath("docs/other.md"), APath(path, "modified"), links=links)

    assert said.startswith(f"{path} was modified, and ")
    assert said.endswith(", which is protected ([work] protected), leads to it")


def test_a_link_on_the_way_of_a_protected_link_is_protected():
    links = {"CLAUDE.md": "now/GUIDE.md", "now": "v2"}

    assert found(APath("now", "modified", 0o120000, link_target="v2"), links=links) == [
        "now was modified, and CLAUDE.md, which is protected ([work] protected), leads to it"
    ]


def test_submodules_and_what_configures_git_are_not_committed():
    assert found(
        APath("lib", mode=0o160000), APath(".gitmodules"), APath("x/.GitConfig", "deleted"), APath("GITMOD~1")
    ) == [
        "lib was added, and is a submodule or another repository",
        ".gitmodules was added, and configures git",
        "x/.GitConfig was deleted, and configures git",
        "GITMOD~1 was added, and configures git",
    ]


@pytest.mark.parametrize(
    "path",
    [
        *(".github/workflows/ci.yml", ".GITHUB/Workflows/ci.yml", ".gitlab-ci.yml", "pkg/AGENTS.md", "claude.md"),
        *("CLAUDE~1.MD", "GITHUB~1/workflows/ci.yml", ".github::$INDEX_ALLOCATION", "CLAUDE.md:x", "CLAUDE.md. "),
        *(".claude", ".vscode", ".github", "pkg/.husky"),
    ],
)
def test_a_protected_file_is_one_whatever_its_case(path: str):
    (said,) = found(APath(path, "modified"))

    assert said.startswith(f"{path} was modified, and ")
    assert said.endswith(" is protected ([work] protected)")


def test_an_operator_may_protect_nothing():
    assert found(APath("AGENTS.md"), rules=InspectionRules(protected=())) == []


def test_a_secret_is_one_wherever_it_is_added():
    assert found(APath("a.py"), added={"a.py": f"x = '{TOKEN}'"}) == ["a.py contains a GitHub token"]
    assert found(APath(f"{TOKEN}.txt")) == [f"{TOKEN}.txt contains a GitHub token"]
    assert found(APath("a", mode=0o120000, link_target=TOKEN)) == ["a contains a GitHub token"]
    assert found(
        APath("a.py"),
        added={"a.py": "p = 'correct-horse-battery'"},
        secrets={"the value of X": "correct-horse-battery"},
    ) == ["a.py contains the value of X"]


def test_a_secret_that_is_removed_is_none():
    assert found(APath("a.py", "deleted"), added={"a.py": TOKEN}) == []


def test_files_and_changes_have_a_limit():
    rules = InspectionRules(max_file=100, max_diff=50)

    assert found(APath("big", size=101, problem="too_big"), APath("fits", size=100), rules=rules, lines=51) == [
        "big has 101 bytes, over the limit of 100 bytes ([work] max_file)",
        "the change has 51 added and removed lines, over the limit of 50 ([work] max_diff)",
    ]
    assert found(APath("fits", size=100), rules=rules, lines=50) == []
    assert found(APath("big", size=10**9), rules=InspectionRules(max_file=0, max_diff=0), lines=10**6) == []


def test_what_is_too_big_to_be_read_is_not_committed_even_without_a_limit():
    assert found(APath("big", size=10**9, problem="too_big"), rules=InspectionRules(max_file=0)) == [
        "big has 1000000000 bytes, which is too big to be read"
    ]


def test_a_big_file_may_be_deleted():
    assert found(APath("big", "deleted", 0, 10**9)) == []


def test_what_could_not_be_read_is_not_committed_unread():
    assert found(
        APath("a", problem="unreadable"), APath("b", problem="special"), APath("c/.GIT", problem="refused")
    ) == [
        "a cannot be read, so that it cannot be inspected",
        "b is not a file, a folder or a symbolic link, so git cannot store it",
        "c/.GIT has a name that git does not allow",
    ]


def test_names_are_shown_and_not_obeyed():
    assert found(APath("prloom/\x1b[2J\n")) == [
        "prloom/\\x1b[2J\\n was added, and prloom's own folder is not for workers"
    ]


def test_of_files_in_conflict_those_are_barred_that_no_worker_may_change():
    paths = ("src/a.py", "CLAUDE.md", "prloom/x", ".gitmodules")

    assert inspection.barred(paths, InspectionRules()) == (
        "CLAUDE.md was in conflict, and CLAUDE.md is protected ([work] protected)",
        "prloom/x was in conflict, and prloom's own folder is not for workers",
        ".gitmodules was in conflict, and configures git",
    )
    assert inspection.barred(("CLAUDE.md",), InspectionRules(protected=())) == ()
