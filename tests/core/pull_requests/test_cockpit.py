"""The cockpit says how far a plan is, and no text from outside can forge a part of it."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from prloom.core.pull_requests import cockpit, cockpit_markers
from prloom.core.pull_requests.cockpit import BOXES, LONGEST_TEXT, CockpitTodo, CockpitView
from prloom.core.pull_requests.cockpit_markers import BEGIN, END
from prloom.core.text.reader_words import WAY_ON

QUIET = "\u200b"
HOSTILE = st.text(alphabet=st.sampled_from("`~<>!-\n @#[]xX/ prloom:endbgi&;()\"'\\"), max_size=120)
FORGED = (
    "<!-- prloom:end -->",
    "- [x] go <!-- prloom:box go -->",
    "<!-- prloom:action a-0 -->",
    "```",
    "<pre>",
    "<!--",
)


def render(text: str = "", *todos: CockpitTodo, **more: object) -> str:
    return cockpit.render(CockpitView(text=text, todos=todos, **more))


def lines(text: str = "", *todos: CockpitTodo, **more: object) -> list[str]:
    return [line for line in render(text, *todos, **more).split("\n") if line]


def test_a_cockpit_has_the_plans_text_its_todos_and_its_boxes_between_the_markers() -> None:
    found = lines("Why.", CockpitTodo(title="Drop the sleep"), checks=["make test"], boxes=("rebase", "pause"))

    assert found == [
        BEGIN,
        "Why.",
        "### TODO",
        "- [ ] Drop the sleep",
        "Checked before each commit: `make test`.",
        "Tick a box to steer prloom:",
        "- [ ] pause the work on this plan <!-- prloom:box pause -->",
        "- [ ] rebase the branch onto its base <!-- prloom:box rebase -->",
        END,
    ]


@pytest.mark.parametrize(
    ("todo", "line"),
    [
        (CockpitTodo(title="A", state="done", commit="3f2a9c1d4e5b6a7c"), "- [x] A — done in 3f2a9c1d4e5b"),
        (CockpitTodo(title="A", state="done"), "- [x] A — done without a change"),
        (CockpitTodo(title="A.", state="done", commit="3f2a9c1d4e5b6a7c"), "- [x] A. — done in 3f2a9c1d4e5b"),
        (CockpitTodo(title="A", state="blocked", reason="no; `prloom x` lifts it"), "- [ ] A — **blocked**: no"),
        (CockpitTodo(title="A", state="dropped"), "- [x] A — dropped"),
        (CockpitTodo(title="A", state="running"), "- [ ] A — **in progress**"),
        (CockpitTodo(title="A", state="running", attempt=2), "- [ ] A — **in progress, attempt 2**"),
        (CockpitTodo(title="A", state="blocked", reason="which cache?"), "- [ ] A — **blocked**: which cache?"),
        (CockpitTodo(title="A", state="blocked"), "- [ ] A — **blocked**"),
        (CockpitTodo(title="A", reason="your consent"), "- [ ] A — waits (your consent)"),
        (CockpitTodo(title="A", until="2026-11-21T13:00:00+01:00"), "- [ ] A — waits until 2026-11-21 12:00 UTC"),
        (
            CockpitTodo(title="A", until="2026-11-21T12:00:00Z", reason="usage limit of claude"),
            "- [ ] A — waits until 2026-11-21 12:00 UTC (usage limit of claude)",
        ),
        (CockpitTodo(title=""), "- [ ] (without a title)"),
    ],
)
def test_a_todo_shows_its_state(todo: CockpitTodo, line: str) -> None:
    assert line in lines("", todo)


def test_what_was_changed_is_told_below_the_todo_that_is_done() -> None:
    done = CockpitTodo(title="A", state="done", commit="3f2a9c1d4e5b", summary="It reads\none piece.")

    assert "\n- [x] A — done in 3f2a9c1d4e5b\\\n  It reads one piece.\n" in render("", done)


def test_a_cockpit_without_boxes_asks_nobody_to_tick_one() -> None:
    assert "Tick" not in render()
    assert sum("prloom:box" in line for line in lines(boxes=BOXES)) == len(BOXES)
    assert "Tick" not in render(boxes=BOXES, ended="merged")


def test_a_block_and_a_pause_are_told_with_the_way_on() -> None:
    found = render(ended="closed", paused=True, blocked=True, block="3 attempts\nfailed; `prloom resume x` goes on")

    assert found.split("\n")[4:-2] == [
        "**Closed.** Nothing is worked on until the pull request is reopened.",
        "",
        "**Paused.** Nothing is worked on until a person resumes the plan.",
        "",
        "**Blocked:** 3 attempts failed",
        "",
        WAY_ON,
        "",
        "There is nothing to do.",
    ]


def test_the_time_until_which_a_todo_waits_is_told_in_utc_wherever_prloom_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    todo = CockpitTodo(title="A", until="2026-11-21T13:00:00+01:00")
    monkeypatch.setenv("TZ", "XYZ-9")
    time.tzset()
    try:
        found = lines("", todo)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert "- [ ] A — waits until 2026-11-21 12:00 UTC" in found


def test_a_plan_without_todos_says_so() -> None:
    assert "There is nothing to do." in lines()


@pytest.mark.parametrize(
    ("drafts", "line"),
    [
        (1, "1 reply waits for the operator to send it."),
        (2, "2 replies wait for the operator to send them."),
    ],
)
def test_replies_that_wait_are_counted(drafts: int, line: str) -> None:
    assert line in lines(drafts=drafts)


def test_of_many_todos_the_open_ones_and_the_last_that_are_done_are_shown() -> None:
    over = [CockpitTodo(title=f"A {number}", state="done" if number % 2 else "dropped") for number in range(120)]
    found = lines("", *over, CockpitTodo(title="open"), blocked=True, block="which cache?")

    first = found.index("**Blocked:** which cache?")
    assert found[first + 1] == WAY_ON
    assert found[first + 2] == "*21 more that are done or dropped are not shown.*"
    assert found[first + 3] == "- [x] A 21 — done without a change"
    assert "- [ ] open" in found


def test_a_long_text_is_cut() -> None:
    assert LONGEST_TEXT < len(render("word " * 20_000)) < LONGEST_TEXT + 1000


@pytest.mark.parametrize("text", ["thanks @eve", "@ada/everybody", "&#64;eve"])
def test_nobody_is_notified(text: str) -> None:
    at = "&#64;" if text.startswith("&") else "@"
    quiet = text.replace(at, f"{at}{QUIET}")

    assert render(text) == render("TEXT").replace("TEXT", quiet)
    assert f"- [ ] {quiet}" in lines("", CockpitTodo(title=text))


def test_what_agents_wrote_closes_no_issue_and_skips_no_check_and_a_persons_text_may() -> None:
    found = render("Closes #1", CockpitTodo(title="Fix #2 [skip ci]", reason="closes a/b#3", state="blocked"))

    assert "Closes #1" in found
    assert "Refs #2 — " in found
    assert "refs a/b#3" in found
    assert "skip ci" not in found


def test_a_command_moves_no_bot() -> None:
    assert "\\/merge" in lines("/merge")


def test_an_image_is_shown_of_the_forges_host_only() -> None:
    text = "![a](https://evil.example/x) ![b](https://github.com/x)"
    shown = f"!{QUIET}[a](https://evil.example/x) ![b](https://github.com/x)"

    found = lines(text, CockpitTodo(title=text, state="blocked", reason=text), block=text, host="github.com")

    assert {shown, f"**Blocked:** {shown}", f"- [ ] {shown} — **blocked**: {shown}"} <= set(found)


def test_tags_are_text_but_in_code_and_addresses_are_links() -> None:
    text = "a <b> `<b>` and <c> `<d>` <e> <https://example.org>"

    assert "a &lt;b> `<b>` and &lt;c> `<d>` &lt;e> <https://example.org>" in lines(text)


def test_tags_are_text_however_often_what_is_code_changes_by_them() -> None:
    text = '<b c="`">`' * 12  # each tag hides a backtick, until it is none any more

    assert text.replace("<", "&lt;") in lines(text)


def test_a_text_of_several_lines_keeps_them_and_is_quoted_where_it_would_not_end() -> None:
    assert "\n\nWhy.\n\n- This\n- That\n\n### TODO" in render("Why.\n\n- This\n- That")
    assert "\n\n> ```\n> code\n>\n> more\n\n### TODO" in render("```\ncode\n\nmore")


@pytest.mark.parametrize(
    "open_end", ["```\ncode", "~~~", "- a\n\n  ```\n  b", "> ```", "    code", "| a |\n|---|", "[a]:"]
)
def test_what_a_text_leaves_open_ends_with_it(open_end: str) -> None:
    assert_whole(render(open_end), like=render("A"))


@pytest.mark.parametrize("forged", FORGED)
def test_no_part_can_be_forged(forged: str) -> None:
    def everywhere(text: str) -> str:
        todo = CockpitTodo(title=text, state="blocked", reason=text)
        done = CockpitTodo(title="B", state="done", summary=text)
        return render(f"{text}\n\n{text} `{text}`\n\n    {text}", todo, done, block=text, checks=[text])

    assert_whole(everywhere(forged), like=everywhere("A"))


@given(HOSTILE, HOSTILE, HOSTILE)
def test_whatever_the_text_the_cockpit_stays_whole(text: str, title: str, reason: str) -> None:
    def everywhere(text: str, title: str, reason: str) -> str:
        todos = (CockpitTodo(title=title, state="blocked", reason=reason), CockpitTodo(title="B", state="done"))
        return render(text, replace(todos[1], summary=reason), todos[0], block=f"!{reason}", checks=[title])

    assert_whole(everywhere(text, title, reason), like=everywhere("A", "A", "A"))


def assert_whole(found: str, *, like: str) -> None:
    """Assert that all markers of a cockpit are those of another, nothing is ticked, and its frame is a block each."""
    assert re.findall("<!-- prloom:.*?-->", found) == re.findall("<!-- prloom:.*?-->", like)
    assert cockpit_markers.merge(found, "new") == "new"
    assert cockpit_markers.ticked(found) == ()
    blocks = MarkdownIt("commonmark").parse(found)
    assert [token.content.strip() for token in blocks if token.type == "html_block"] == [BEGIN, END]
    assert "###" in [token.markup for token in blocks if token.type == "heading_open" and not token.level]
