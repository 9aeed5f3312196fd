from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prloom.core.plans import front_matter, plan_reader
from prloom.core.plans.front_matter import FrontMatter, PlanBranches, PlanSource
from prloom.errors import PrloomError

PLAN = """\
---
status: queued            # draft | queued       (inbox only)
branch: faster-greeting   # default: the plan's id
base: main
preset: careful
reviewers: [ann, "@bob"]
labels:
- performance
source: {system: github, kind: issue, id: "12"}
---
# Make greet() fast
"""
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name.strip()
)
NAMES = NAMES.filter(lambda name: name not in ("~", "null") and not name.startswith("@"))
BRANCHES = st.sampled_from(["main", "1.10", "no", "feature/a", "2026-01-01", "0x1f", "ü", "a#b", "'x'"])
FRONTS = st.builds(
    FrontMatter,
    status=st.sampled_from(["draft", "queued"]),
    branch=st.none() | BRANCHES,
    base=st.none() | BRANCHES,
    preset=st.none() | NAMES,
    reviewers=st.lists(NAMES, max_size=3).map(tuple),
    labels=st.lists(NAMES, max_size=3).map(tuple),
    source=st.none() | st.builds(PlanSource, NAMES, NAMES, NAMES),
)
TEXTS = st.lists(st.sampled_from(["---", "# t", "\n", "\r\n", "a: b", " "]) | st.text(max_size=3), max_size=6).map(
    "".join
)


def test_front_matter_says_what_becomes_of_a_plan() -> None:
    assert front_matter.parse(PLAN) == FrontMatter(
        status="queued",
        branch="faster-greeting",
        base="main",
        preset="careful",
        reviewers=("ann", "bob"),
        labels=("performance",),
        source=PlanSource("github", "issue", "12"),
    )


@pytest.mark.parametrize(
    "text",
    ["", "# t\n", "---\n---\n# t\n", "---\n\n---", "---\nbranch:\nbase: ~\n---\n", "text\n---\nstatus: queued\n---\n"],
)
def test_a_plan_whose_front_matter_says_nothing_is_a_draft(text: str) -> None:
    assert front_matter.parse(text) == FrontMatter()


def test_values_are_texts_whatever_yaml_would_make_of_them() -> None:
    front = front_matter.parse(
        "---\nbranch: 1.10\nbase: no\nlabels: 12\nreviewers: [on, 2026-01-01]\npreset: null\n---\n"
    )

    assert front == FrontMatter(branch="1.10", base="no", labels=("12",), reviewers=("on", "2026-01-01"))


@pytest.mark.parametrize(
    ("block", "error"),
    [
        ("brnach: x", "the front matter has the unknown key 'brnach' (line 2); did you mean branch?"),
        ("\nx: y", "has the unknown key 'x' (line 3); use status, branch, base, preset, reviewers, labels, source"),
        ("status: que", "has the status 'que' (line 2); write draft or queued"),
        ("branch: a\nbranch: b", "repeats the key 'branch' (line 3); remove one of the two"),
        ("branch: HEAD", "names 'HEAD', which is not a valid name for a branch (line 2); choose another name"),
        ("branch: --upload-pack=x", "names '--upload-pack=x', which is not a valid name"),
        ("base: a b", "names 'a b', which is not a valid name for a branch"),
        ("branch: [a]", "has a list where one text belongs (line 2); write one value"),
        ('preset: "a\\nb"', "has the value 'a\\nb', which is empty or cannot be printed (line 2); write one line"),
        ("reviewers: {ann: 1}", "has a value that is not a list of names (line 2); write a list such as [ann, bob]"),
        ("labels: [[a]]", "has a list where one text belongs (line 2)"),
        (f"labels: [{'a, ' * 101}]", "has a value that is not a list of names"),
        ("source: github", "has a source that is not a mapping (line 2); give it the keys system, kind, id"),
        ("source: [system]", "has a source that is not a mapping (line 2); give it the keys system, kind, id"),
        ("source: {system: a}", "has a source without kind, id (line 2); give it the keys system, kind, id"),
        (
            "source: {system: a, kind: b, id: c, url: d}",
            "has a wrong or repeated key in its source (line 2); use the keys system, kind, id",
        ),
        ("- a", "is not a list of keys and values (line 2); write `key: value` lines"),
        ("words", "is not a list of keys and values (line 2)"),
        ("{status: queued}", "is not a list of keys and values (line 2)"),
        ("[a]: b", "is not a list of keys and values"),
        ("a: b: c", "line 2 of the front matter is not valid YAML: mapping values are not allowed here; correct it"),
        ("a: &a [*a]\n", "has the unknown key 'a'"),
        ("labels: *nobody", "line 2 of the front matter is not valid YAML: found undefined alias 'nobody'; correct it"),
        ("a: \x00", "the front matter is not valid YAML; correct it, or remove it"),
        ("[" * 2000, "the front matter is not valid YAML; correct it, or remove it"),
    ],
)
def test_front_matter_that_cannot_be_used_is_one_error_that_names_the_line(block: str, error: str) -> None:
    with pytest.raises(PrloomError) as raised:
        front_matter.parse(f"---\n{block}\n---\n# t\n")

    assert error in str(raised.value)
    assert len(str(raised.value)) < 300


def test_references_that_grow_without_end_are_refused_at_once() -> None:
    lines = [
        "a0: &a0 [x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)),
        "labels: *a39",
    ]

    with pytest.raises(PrloomError, match="has the unknown key 'a0'"):
        front_matter.parse("---\n" + "\n".join(lines) + "\n---\n")


@pytest.mark.parametrize("first", ["---", "--- ", "---\r", "\ufeff---"])
def test_front_matter_that_nobody_closes_is_an_error_and_not_lost_text(first: str) -> None:
    with pytest.raises(PrloomError, match="line 1 opens front matter that no line of --- closes"):
        front_matter.parse(f"{first}\nstatus: queued\n# t\n")


def test_only_front_matter_has_to_be_short() -> None:
    block, _rest = front_matter.split(PLAN)
    long = "a" * plan_reader.LONGEST_FRONT

    assert front_matter.split(block + long) == (block, long)
    assert plan_reader.front_matter_lines(f"---\n{long}\n---\n") == 0
    with pytest.raises(PrloomError, match="the front matter would have more than 16384 characters; name fewer people"):
        front_matter.write(FrontMatter(labels=(long,)), PLAN)


def test_each_key_is_written_on_one_line_that_people_can_read() -> None:
    front = FrontMatter(
        status="queued",
        base="1.10",
        labels=("größer", "a" * 60, "b c " * 9 + "d"),
        source=PlanSource("github", "issue", "12"),
    )

    assert front_matter.write(front, "# t\n") == (
        f"---\nstatus: queued\nbase: '1.10'\nlabels: [größer, {'a' * 60}, {'b c ' * 9}d]\n"
        "source: {system: github, kind: issue, id: '12'}\n---\n# t\n"
    )


@settings(deadline=None)
@given(FRONTS, TEXTS)
def test_what_is_written_is_read_again_and_the_text_keeps_every_byte(front: FrontMatter, text: str) -> None:
    written = front_matter.write(front, text)

    assert front_matter.parse(written) == front
    _block, rest = front_matter.split(text)
    if plan_reader.front_matter_lines(text) == 0:
        rest = text.removeprefix("\ufeff")
    assert front_matter.split(written)[1] == rest


def test_a_new_status_changes_nothing_else() -> None:
    draft = front_matter.with_status(PLAN, "draft")

    assert draft == PLAN.replace("status: queued ", "status: draft ")
    assert front_matter.with_status(draft, "queued") == PLAN
    assert front_matter.with_status("# t\r\n", "queued") == "---\r\nstatus: queued\r\n---\r\n# t\r\n"
    assert front_matter.with_status("\ufeff# t\n", "queued") == "\ufeff---\nstatus: queued\n---\n# t\n"
    assert front_matter.parse(front_matter.with_status("---\nbase: x\n---\n", "queued")) == FrontMatter(
        status="queued", base="x"
    )
    assert front_matter.with_status("---\nbase: x\n---", "queued") == "---\nstatus: queued\nbase: x\n---\n"
    assert front_matter.with_status("--- a\n# t\n", "queued") == "---\nstatus: queued\n---\n--- a\n# t\n"
    assert front_matter.with_status("# t\n", "draft") == "# t\n"


def test_the_front_matter_of_an_active_plan_has_no_status() -> None:
    assert front_matter.without_status(PLAN) == "---\n" + PLAN.split("\n", 2)[2]
    assert front_matter.without_status("---\nstatus: queued\n---\n# t\n") == "# t\n"
    assert front_matter.without_status("# t\n") == "# t\n"
    marked = "\ufeff---\nbase: x\n---\n# t\n"
    assert front_matter.without_status(marked) == marked
    assert front_matter.without_status(marked.replace("base", "status: queued\nbase")) == marked


def test_a_plan_has_a_branch_of_its_own_and_a_base() -> None:
    assert front_matter.plan_branches(FrontMatter(), "fast", "main") == PlanBranches("fast", "main")
    assert front_matter.plan_branches(FrontMatter(branch="b", base="c"), "fast", "main") == PlanBranches("b", "c")
    with pytest.raises(PrloomError, match="branch main is also the plan's base; choose another `branch:`"):
        front_matter.plan_branches(FrontMatter(branch="main"), "fast", "main")
    with pytest.raises(PrloomError, match="is the name of a branch, without refs/heads/: refs/heads/b"):
        front_matter.plan_branches(FrontMatter(branch="refs/heads/b"), "fast", "main")
