from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prloom.core.plans import plan_file, plan_text

PLAN = """\
---
branch: faster
---
# Make greet() fast

Why <!-- prloom:todo x --> and what.

### Not now

- [ ] the rest

## TODO

- [ ] Drop the sleep
  Here.

## Design

Not shown.
"""
PIECES = (
    "- [ ] ",
    "## TODO",
    "## Notes",
    "# ",
    "```",
    "<!--",
    "-->",
    "<!-- prloom:todo t -->",
    "\n",
    "\r\n",
    "  ",
    "---",
)
OUTSIDE = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


def test_the_description_ends_where_the_todos_begin_and_has_no_marks() -> None:
    assert plan_text.body(PLAN) == "Why and what.\n\n### Not now\n\n- [ ] the rest"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("", ""),
        ("words", "words"),
        ("---\nbranch: x\n---\nwords", "words"),
        ("# t", ""),
        ("## TODO\n- [ ] a\n# t\nwords\n## Notes\nx", "words"),
        ("# t\r\n\r\na\r\n<!-- prloom:x b\r\n", "a\n<!-- prloom:x b"),
        ("# t\n```\n## TODO\n```\n## notes\n", "```\n## TODO\n```"),
        ("\ufeffwords", "words"),
    ],
)
def test_the_description_of_an_odd_plan_is_what_stands_after_its_title(text: str, body: str) -> None:
    assert plan_text.body(text) == body


def test_notes_are_kept_in_a_section_of_their_own() -> None:
    once = plan_text.append_notes(PLAN, ["Use `make fast`.", "# Beware\n- [ ] of this"])

    assert once == PLAN + "\n## Notes\n\n- Use `make fast`.\n- \\# Beware\n  \\- [ ] of this\n"
    assert plan_text.append_notes(once, ["Use `make fast`."]) == once
    assert plan_text.append_notes(once, ["More", "", "More"]) == once + "- More\n"
    assert plan_text.notes(PLAN) == ""
    assert plan_text.notes(once) == "- Use `make fast`.\n- \\# Beware\n  \\- [ ] of this"


def test_notes_go_where_a_person_began_them() -> None:
    text = "# t\n## Notes\nMind the cache.\n\n## TODO\n- [ ] a\n"

    assert plan_text.append_notes(text, ["x"]) == "# t\n## Notes\nMind the cache.\n\n- x\n\n## TODO\n- [ ] a\n"


@pytest.mark.parametrize(
    ("text", "grown"),
    [
        ("## Notes\r\n- a\r\n", "## Notes\r\n- a\r\n- x\r\n  y\r\n"),
        ("## Notes\n- a\n\n```\ncode", "## Notes\n- a\n- x\n  y\n\n```\ncode"),
        ("## Notes\n```\ncode", "## Notes\n\n- x\n  y\n\n```\ncode"),
        ("## Notes\n```\ncode\n```\n", "## Notes\n```\ncode\n```\n\n- x\n  y\n"),
    ],
)
def test_notes_go_after_the_others_but_not_into_a_block_that_nobody_closes(text: str, grown: str) -> None:
    assert plan_text.append_notes(text, [" x\ny"]) == grown
    assert plan_text.notes(text) == plan_text.notes(f"{text}\n") == text.replace("\r", "").partition("\n")[2].strip()


@settings(deadline=None)
@given(OUTSIDE, st.lists(OUTSIDE, max_size=3))
def test_notes_change_neither_the_todos_nor_themselves(text: str, notes: list[str]) -> None:
    grown = plan_text.append_notes(text, notes)

    assert plan_file.todos(grown) == plan_file.todos(text)
    assert plan_file.title(grown) == plan_file.title(text)
    assert plan_text.append_notes(grown, notes) == grown
    kept = iter(grown.split("\n"))
    assert (
        all(line in kept for line in (each.removesuffix("\r") for each in text.split("\n")) if line.strip())
        or "\r" in text
    )
