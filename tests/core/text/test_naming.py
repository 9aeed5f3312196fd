from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prloom.core.text import naming
from prloom.errors import PrloomError

SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
GOOD_NAMES = ("main", "a/b", "--output=x", "-", "$(x)", "a'b|c", "ünï", "@x", "a@b")
BAD_NAMES = (
    "",
    "@",
    "HEAD",
    ".a",
    "a/.b",
    "a..b",
    "a b",
    "a~",
    "a^{}",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "a@{1}",
    "/a",
    "a//b",
)
BAD_ENDINGS = ("a/", "a.lock", "a.lock/b", "a.", "a\x7f", "a\tb")


@pytest.mark.parametrize("branch", ["main", "fix-42", "v1.2_x", "a", "a" * 64])
def test_a_branch_with_a_safe_name_keeps_it(branch: str) -> None:
    assert naming.plan_id(branch) == branch


def test_a_pull_request_is_named_by_its_number() -> None:
    assert naming.plan_id(7) == "pr-7"


@pytest.mark.parametrize(
    ("branch", "start"),
    [
        ("feature/login", "feature-login-"),
        ("Feature", "feature-"),
        ("--output=x", "output-x-"),
        ("$(touch${IFS}pwned)", "touch-ifs-pwned-"),
        ("a'b|c\"d`e", "a-b-c-d-e-"),
        ("ünïcödé", "unicode-"),
        ("日本語", "branch-"),
        ("\udcfcber", "ber-"),
        ("..", "branch-"),
        (".", "branch-"),
        ("", "branch-"),
        ("../../etc/passwd", "etc-passwd-"),
        ("a" * 65, "a" * 55 + "-"),
        ("x" * 5000, "x" * 55 + "-"),
    ],
)
def test_any_other_branch_gets_its_readable_part_and_a_digest(branch: str, start: str) -> None:
    made = naming.plan_id(branch)

    assert re.fullmatch(re.escape(start) + "[0-9a-f]{8}", made)


@settings(deadline=None)  # a loaded machine is no failure
@given(st.text() | st.text(alphabet="ab/.-_A"))
def test_an_id_is_always_a_safe_name_of_a_folder(branch: str) -> None:
    made = naming.plan_id(branch)

    assert SAFE.fullmatch(made)
    assert ".." not in made
    assert not made.endswith(".")
    assert naming.check_plan_id(made) == made


@settings(deadline=None)
@given(st.text(alphabet="aA/.-_1"), st.text(alphabet="aA/.-_1"))
def test_distinct_branches_have_distinct_ids(one: str, other: str) -> None:
    assert (naming.plan_id(one) == naming.plan_id(other)) == (one == other)


def test_a_branch_that_looks_like_the_id_of_another_does_not_get_it() -> None:
    derived = naming.plan_id("feature/login")

    assert naming.plan_id(derived, {derived}) != derived
    assert naming.plan_id("pr-7", {"pr-7"}) not in {naming.plan_id(7), naming.plan_id(7, {"pr-7"})}


@pytest.mark.parametrize("branch", ["pr-01", "pr-7", "fix-0e7ed528"])
def test_a_branch_keeps_a_name_that_looks_derived_too_if_it_is_free(branch: str) -> None:
    assert naming.plan_id(branch) == branch
    assert re.fullmatch(f"{branch}-[0-9a-f]{{8}}", naming.plan_id(branch, {branch}))
    assert re.fullmatch("pr-7-[0-9a-f]{8}", naming.plan_id(7, {"pr-7"}))


@pytest.mark.parametrize(
    ("title", "made"),
    [
        ("検索を速くする", "jian-suoo-sukusuru"),
        ("ログインを直す", "roguino-zhisu"),
        ("テストを書く", "tesutoo-shuku"),
        ("Почини поиск", "pochini-poisk"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "mykhwhm"),
        ("Größe der Straße", "grosse-der-strasse"),
        ("cafe\u0301 \U0001f680", "cafe-rocket"),
        ("\udcff", "plan"),
        ("Make it fast", "make-it-fast"),
    ],
)
def test_the_id_of_a_title_in_another_script_is_written_in_latin_letters(title: str, made: str) -> None:
    assert naming.plan_id_of_title(title, ()) == made


@pytest.mark.parametrize("text", ["", ".", "..", "-x", "_x", "a/b", "A", "a b", "a..b", "a.", "a" * 65, "a\n", "é"])
def test_an_unsafe_id_is_refused(text: str) -> None:
    with pytest.raises(PrloomError, match="is not a valid id for a plan; use 1 to 64 of a-z"):
        naming.check_plan_id(text)


def test_a_refused_id_comes_with_one_that_would_do() -> None:
    with pytest.raises(PrloomError, match="such as 'foo-bar'"):
        naming.check_plan_id("Foo Bar")


def test_a_refused_id_is_shown_without_its_control_characters() -> None:
    with pytest.raises(PrloomError) as caught:
        naming.check_plan_id("a\x1b]0;title\x07\x9b\u202e")

    assert str(caught.value).isprintable()


def test_what_is_shown_is_one_printable_line_of_bounded_length() -> None:
    assert naming.printable("a\nb\x1b[31m\ud800") == "a\\nb\\x1b[31m\\ud800"
    assert naming.printable("x" * 120) == "x" * 120
    assert naming.printable("x" * 500) == "x" * 119 + "…"


@pytest.mark.parametrize(
    "name",
    [*GOOD_NAMES, *BAD_NAMES, *BAD_ENDINGS],
)
def test_a_branch_name_is_what_git_takes_for_one(name: str) -> None:
    asked = subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], check=False)

    # These are valid refs below `refs/heads/`, but mean what is checked out wherever a branch is asked for.
    assert naming.is_branch_name(name) == (asked.returncode == 0 and name not in {"@", "HEAD"})
