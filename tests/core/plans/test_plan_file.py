from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from prloom.core.plans import plan_file
from prloom.core.plans.plan_file import PlanTodo, TodoItem
from prloom.core.text import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN = """\
# Make login faster

Some words.

## TODO

- [x] Measure it
- [ ] Cache the session <!-- prloom:todo t-1 -->
  The reviewer wants this.

  Twice.

## Notes

- [ ] Not a TODO
"""

# Pieces that have a meaning in Markdown, and everything else that a comment can hold.
STRUCTURE = ("- [ ] ", "* [x] ", "1. [ ] ", "> ", "# ", "## TODO", "```", "~~~", "---", "===", "[ ]", "#", "\\", "\\#")
MARKS = ("<!--", "-->", "<!-- prloom:todo t1 -->", "<!-- prloom:events e -->", "<\\!--", "--\\>")
SPACES = ("\n", "\r\n", "\r", "\u2028", "  ", "    ", "\t", "\xa0", "\ufeff")
LETTERS = ("\x1b[31m", "\x00", "\x9b", "\u202e", "\ud800", "a", "word", "é", "🙂")
NASTY = st.sampled_from([*STRUCTURE, *MARKS, *SPACES, *LETTERS])
OUTSIDE = st.lists(NASTY | st.text(max_size=3), max_size=12).map("".join)
IDS = st.text(alphabet="ab-.:/% >\n", min_size=1, max_size=4)
TODOS = st.lists(st.builds(PlanTodo, IDS, OUTSIDE, OUTSIDE, st.lists(IDS, max_size=2).map(tuple)), max_size=4)


def as_read(todo: PlanTodo) -> TodoItem:
    name = markdown.one_line(todo.title) or "(no title)"
    return TodoItem(todo.id, name, context="\n".join(markdown.clean(todo.context)), event_ids=todo.event_ids)


def test_the_todos_are_the_items_of_the_todo_section() -> None:
    assert plan_file.todos(PLAN) == (
        TodoItem(None, "Measure it", "done"),
        TodoItem("t-1", "Cache the session", context="The reviewer wants this.\n\nTwice."),
    )
    assert plan_file.counts(PLAN) == (2, 1)
    assert plan_file.title(PLAN) == "Make login faster"


def test_a_new_plan_has_its_title_and_no_todos() -> None:
    text = plan_file.new_plan("Make login faster", "Because.\n\nIt is slow.", "feature/login", 7)

    assert text == (
        "# Make login faster\n\nBranch `feature/login`, pull request #7\n\n> Because.\n>\n> It is slow.\n\n## TODO\n"
    )
    assert plan_file.counts(text) == (0, 0)


@pytest.mark.parametrize(("line", "title"), [("C#", "C#"), ("C\\#", "C#"), ("MAX", "MAX"), ("a #", "a")])
def test_hashes_that_belong_to_a_title_stay_and_those_of_the_heading_go(line: str, title: str) -> None:
    assert plan_file.title(f"# {line}\n") == title
    assert plan_file.title(plan_file.new_plan(line, "", "b", None)) == line


def test_a_plan_of_a_branch_without_a_pull_request_names_only_the_branch() -> None:
    assert plan_file.new_plan("x", "", "b`r", None) == "# x\n\nBranch `` b`r ``\n\n## TODO\n"


@settings(deadline=None)  # a loaded machine is no failure
@given(OUTSIDE, OUTSIDE, OUTSIDE, TODOS)
def test_nothing_in_a_pull_request_can_add_or_hide_a_todo(
    title: str,
    body: str,
    branch: str,
    todos: list[PlanTodo],
) -> None:
    text = plan_file.append_todos(plan_file.new_plan(title, body, branch, 1), todos)

    first = {todo.id: todo for todo in reversed(todos)}
    assert set(plan_file.todos(text)) == {as_read(todo) for todo in first.values()}
    assert plan_file.title(text) == (markdown.one_line(title) or "(no title)")
    text.encode("utf-8")  # half a surrogate pair would make it impossible to write


@settings(deadline=None)
@given(OUTSIDE, TODOS)
def test_what_is_appended_to_any_text_is_read_again_and_changes_nothing_else(text: str, todos: list[PlanTodo]) -> None:
    before = plan_file.todos(text)
    known = {item.id for item in before}
    first = {todo.id: todo for todo in reversed(todos) if todo.id not in known}
    order = dict.fromkeys(todo.id for todo in todos if todo.id not in known)

    grown = plan_file.append_todos(text, todos)

    assert plan_file.todos(grown) == (*before, *(as_read(first[each]) for each in order))
    assert plan_file.append_todos(grown, todos) == grown


@pytest.mark.parametrize("below", ["  ```\nopen", "  ## Notes\n- [ ] Not a TODO"])
def test_what_is_indented_below_the_section_does_not_become_part_of_a_todo(below: str) -> None:
    text = plan_file.append_todos(f"## TODO\n\n{below}", [PlanTodo("a", "First")])
    text = plan_file.append_todos(text, [PlanTodo("b", "Second")])

    assert plan_file.todos(text) == (TodoItem("a", "First"), TodoItem("b", "Second"))
    assert text.endswith(below)


@settings(deadline=None)
@given(OUTSIDE, TODOS.filter(bool))
def test_checking_a_todo_checks_it_and_no_other(text: str, todos: list[PlanTodo]) -> None:
    grown = plan_file.append_todos(text, todos)
    chosen = todos[-1].id

    checked = plan_file.set_state(grown, chosen, "done")

    assert plan_file.todos(checked) == tuple(
        replace(item, state="done") if item.id == chosen else item for item in plan_file.todos(grown)
    )


@settings(deadline=None)
@given(OUTSIDE)
def test_what_is_escaped_comes_back_line_by_line(text: str) -> None:
    for line in markdown.clean(text):
        shown = markdown.escaped(line)
        assert markdown.unescaped(shown) == line
        assert "<!--" not in shown
        assert "-->" not in shown
        assert not shown.lstrip().startswith(("#", "- [ ]", "* [x]", "1. [ ]"))
        assert set(shown.strip()) not in ({"-"}, {"="})


def test_a_todo_is_written_with_its_marks() -> None:
    todo = PlanTodo("t-2", "Add a test", "In `login.py`:\n\n    assert fast()", ("github:1", "a b>"))

    assert plan_file.append_todos(PLAN, [todo]) == PLAN.replace(
        "  Twice.\n",
        "  Twice.\n- [ ] Add a test <!-- prloom:todo t-2 -->\n  In `login.py`:\n\n      assert fast()\n"
        "  <!-- prloom:events github:1 a%20b%3E -->\n",
    )


def test_appending_twice_changes_nothing() -> None:
    todo = PlanTodo("t-2", "Add a test")
    once = plan_file.append_todos(PLAN, [todo, todo])

    assert plan_file.append_todos(once, [todo]) == once
    assert plan_file.counts(once) == (3, 1)


def test_a_todo_that_is_done_or_was_reworded_is_not_written_again() -> None:
    edited = PLAN.replace(
        "- [ ] Cache the session <!-- prloom:todo t-1 -->", "* [X] Cached <!-- prloom:todo t-1 --> :)"
    )

    assert plan_file.append_todos(edited, [PlanTodo("t-1", "Cache the session")]) == edited
    assert plan_file.todos(edited)[1].title == "Cached :)"


def test_a_todo_needs_an_id() -> None:
    with pytest.raises(ValueError, match="a TODO needs an id"):
        plan_file.append_todos(PLAN, [PlanTodo("", "x")])


def test_an_id_that_cannot_be_encoded_does_not_keep_a_todo_from_being_written() -> None:
    assert plan_file.append_todos("", [PlanTodo("a\ud800", "x")]) == "## TODO\n\n- [ ] x <!-- prloom:todo a%3F -->\n"


def test_a_missing_section_is_made_at_the_end() -> None:
    made = "# x\n\nwords\n\n## TODO\n\n- [ ] a <!-- prloom:todo 1 -->\n"

    assert plan_file.append_todos("# x\n\nwords\n", [PlanTodo("1", "a")]) == made
    assert plan_file.append_todos("# x\n\nwords", [PlanTodo("1", "a")]) == made
    assert plan_file.append_todos("", [PlanTodo("1", "a")]) == "## TODO\n\n- [ ] a <!-- prloom:todo 1 -->\n"


def test_an_empty_line_parts_new_todos_from_their_neighbours() -> None:
    made = "## TODO\n\n- [ ] a <!-- prloom:todo 1 -->\n\n## Notes\n"

    assert plan_file.append_todos("## TODO\n## Notes\n", [PlanTodo("1", "a")]) == made


@pytest.mark.parametrize("tail", ["```\ncode", "~~~~ x\n~~~\n", "<!-- a note\n"])
def test_a_block_that_nobody_closes_does_not_swallow_new_todos(tail: str) -> None:
    for text in (tail, f"# x\n\n{tail}", f"# x\n\n## TODO\n\n- [ ] a\n\n{tail}"):
        grown = plan_file.append_todos(text, [PlanTodo("1", "new")])

        assert grown.endswith(f"\n\n{tail}")
        assert plan_file.todos(grown)[-1] == TodoItem("1", "new")


def test_the_context_of_a_hostile_todo_stays_in_its_item() -> None:
    evil = "# A\n## TODO\n- [ ] mine\n-->\n```\n<!-- prloom:todo t-9 -->\n- [x] <!-- hidden\nmore\n====\n\x1b[2J"
    todos = [PlanTodo("t-2", "x\n- [ ] y <!-- prloom:todo t-3 -->", evil), PlanTodo("t-4", "z")]

    text = plan_file.append_todos(PLAN, todos)

    assert [item.id for item in plan_file.todos(text)] == [None, "t-1", "t-2", "t-4"]
    block = text[text.index("- [ ] x") : text.index("- [ ] z")].splitlines()
    assert block == [
        "- [ ] x - [ ] y <\\!-- prloom:todo t-3 --\\> <!-- prloom:todo t-2 -->",
        "  \\# A",
        "  \\## TODO",
        "  \\- [ ] mine",
        "  --\\>",
        "  ```",
        "  <\\!-- prloom:todo t-9 --\\>",
        "  \\- [x] <\\!-- hidden",
        "  more",
        "  \\====",
        "  [2J",
    ]


@pytest.mark.parametrize("fence", ["```", "~~~~", "```python", "   ```"])
def test_items_in_a_block_of_code_are_no_todos(fence: str) -> None:
    close = fence.strip().rstrip("python")
    block = f"## TODO\n- [ ] no\n{close}\n"
    text = f"{fence}\n    {close}\n{block}## TODO\n{fence}\n- [ ] no\n{block}- [ ] yes\n"

    assert [item.title for item in plan_file.todos(text)] == ["yes"]


def test_three_backquotes_within_a_line_open_no_block() -> None:
    assert plan_file.counts("## TODO\n```like ` this```\n- [ ] yes\n") == (1, 0)


def test_items_in_a_comment_are_no_todos() -> None:
    assert plan_file.counts("## TODO\n<!-- like this:\n\n- [ ] no\n-->\n- [ ] yes\n") == (1, 0)


@pytest.mark.parametrize(
    "line",
    [
        "-[ ] a",
        "- [] a",
        "- [  ] a",
        "- [y] a",
        "- [ ]a",
        "-      [ ] a",
        "> - [ ] a",
        "1.[ ] a",
        "1: [ ] a",
        "1234567890. [ ] a",
        "- [b a",
        "- \u0661. [ ] a",
    ],
)
def test_what_is_not_quite_an_item_is_none(line: str) -> None:
    assert plan_file.counts(f"## TODO\n\n{line}\n") == (0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] a",
        "* [ ] a",
        "+   [ ] a",
        "   - [ ] a",
        "- [ ]\ta",
        "      - [ ] a",
        "\t-\t[ ] a",
        "1. [ ] a",
        "23) [ ] a",
    ],
)
def test_items_may_be_written_as_markdown_allows(line: str) -> None:
    assert plan_file.todos(f"## todo ##\n\n{line}\n") == (TodoItem(None, "a"),)


def test_what_a_person_indents_below_an_item_is_its_context() -> None:
    text = (
        "## TODO\n- [ ] a\n\n      why\n        - [ ] part\n\n### Later\n- [ ] b\n\tthat\nnot of b\n# Other\n- [ ] c\n"
    )

    assert plan_file.todos(text) == (
        TodoItem(None, "a", context="why\n  - [ ] part"),
        TodoItem(None, "b", context="that"),
    )


def test_the_indentation_of_an_item_with_an_id_is_no_part_of_its_context() -> None:
    text = (
        "## TODO\n  - [ ] a <!-- prloom:todo 1 -->\n    why\n      code\n"
        "10. [ ] b <!-- prloom:todo 2 -->\n  less\n      - part\n- [ ] c <!-- prloom:todo 3 -->\n\ttab \n\t  code\n"
    )

    assert plan_file.todos(text) == (
        TodoItem("1", "a", context="why\n  code"),
        TodoItem("2", "b", context="less\n  - part"),
        TodoItem("3", "c", context="tab\n  code"),
    )


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("a <!-- prloom:todo 1 --> <!-- prloom:todo 2 -->", TodoItem("2", "a <!-- prloom:todo 1 -->")),
        ("a <!-- prloom:todo 1 --> b <!-- c -->", TodoItem("1", "a b <!-- c -->")),
        ("a <!-- prloom:todo 1 2 -->", TodoItem(None, "a <!-- prloom:todo 1 2 -->")),
        ("a <!-- prloom:todo 1", TodoItem(None, "a <!-- prloom:todo 1")),
        ("a --> b", TodoItem(None, "a --> b")),
    ],
)
def test_the_id_of_an_item_is_in_the_last_mark_of_its_line(line: str, item: TodoItem) -> None:
    assert plan_file.todos(f"## TODO\n- [ ] {line}\n") == (item,)


def test_a_todo_is_checked_by_its_id() -> None:
    checked = plan_file.set_state(PLAN, "t-1", "done")

    assert checked == PLAN.replace("- [ ] Cache", "- [x] Cache")
    assert plan_file.set_state(checked, "t-1", "done") == checked
    assert plan_file.set_state(PLAN, "t-9", "done") == PLAN
    by_hand = PLAN.replace("- [ ] Cache", "- [X] Cache")
    assert plan_file.set_state(by_hand, "t-1", "done") == by_hand


def test_every_state_is_read_from_its_box() -> None:
    text = "## TODO\n- [ ] a\n- [X] b\n- [B] c\n- [b] d\n- [-] e\n"

    assert [item.state for item in plan_file.todos(text)] == ["open", "done", "blocked", "blocked", "dropped"]
    assert [(item.done, item.over) for item in plan_file.todos(text)] == [
        (False, False),
        (True, True),
        (False, False),
        (False, False),
        (False, True),
    ]
    assert plan_file.counts(text) == (4, 1)


def test_a_list_that_is_indented_as_a_whole_is_a_list_of_todos() -> None:
    text = "## TODO\n\nFirst:\n\n    1. [ ] a\n       why\n\n       - [ ] part of a\n    2) [b] b\n\t- [ ] c\n- [ ] d\n"

    assert plan_file.todos(text) == (
        TodoItem(None, "a", context="why\n\n- [ ] part of a"),
        TodoItem(None, "b", "blocked"),
        TodoItem(None, "c"),
        TodoItem(None, "d"),
    )


def test_items_in_a_block_of_code_that_is_indented_are_no_todos() -> None:
    assert plan_file.counts("## TODO\n- note\n\n      ```\n      - [ ] no\n      ```\n\n    - [ ] yes\n") == (1, 0)


def test_front_matter_holds_no_todos_and_no_title() -> None:
    text = "---\n# a comment\nbranch: x\n## TODO\n- [ ] no\n---\n# Title\n## TODO\n- [ ] yes\n"

    assert plan_file.title(text) == "Title"
    assert [item.title for item in plan_file.todos(text)] == ["yes"]
    assert plan_file.append_todos("---\nbranch: x\n---\n", [PlanTodo("1", "a")]) == (
        "---\nbranch: x\n---\n## TODO\n\n- [ ] a <!-- prloom:todo 1 -->\n"
    )


def numbered(number: int, title: str) -> str:
    return f"t-{number}"


def test_each_todo_gets_an_id() -> None:
    text = "## TODO\n- [ ] a  \n  why\n* [x]\n1. [b] c <!-- prloom:todo mine -->"

    assert plan_file.with_ids(text, numbered) == (
        "## TODO\n- [ ] a <!-- prloom:todo t-1 -->  \n  why\n* [x] <!-- prloom:todo t-2 -->\n"
        "1. [b] c <!-- prloom:todo mine -->"
    )


def test_a_line_that_was_copied_with_its_mark_does_not_pass_for_the_first_one() -> None:
    text = "## TODO\n- [x] One <!-- prloom:todo t-1 -->\n- [ ] Two <!-- prloom:todo t-1 -->\n  More.\n"

    assert plan_file.todos(text) == (
        TodoItem("t-1", "One", "done"),
        TodoItem(None, "Two", "open", "More."),
    )
    lines = ("- [ ] Two", "- [x] One", "- [x] 3")
    text = "\n".join(("## TODO", *(f"{line} <!-- prloom:todo t-1 -->" for line in lines)))
    assert plan_file.todos(text) == (
        TodoItem(None, "Two", "open"),
        TodoItem("t-1", "One", "done"),
        TodoItem(None, "3", "done"),
    )


def test_a_line_that_was_copied_with_its_mark_gets_an_id_of_its_own() -> None:
    text = "## TODO\n- [ ] a <!-- prloom:todo t-3 --> :)\n- [ ] b <!-- prloom:todo t-3 --> :)\n- [ ] c\n"

    assert plan_file.with_ids(text, numbered) == (
        "## TODO\n- [ ] a <!-- prloom:todo t-3 --> :)\n- [ ] b <!-- prloom:todo t-2 --> :)\n"
        "- [ ] c <!-- prloom:todo t-4 -->\n"
    )


def test_an_id_that_was_used_before_is_not_given_again() -> None:
    assert plan_file.with_ids("## TODO\n- [ ] a\n", numbered, {"t-1", "t-2"}).count("t-3") == 1
    named = plan_file.with_ids("## TODO\n- [ ] a\n- [ ] a\n- [ ] b\n", lambda number, title: f"{title}{number // 3}")
    assert [todo.id for todo in plan_file.todos(named)] == ["a0", "a1", "b1"]
    with pytest.raises(ValueError, match="another id for another number"):
        plan_file.with_ids("## TODO\n- [ ] a\n", lambda *_: "t-1", {"t-1"})


@settings(deadline=None)
@given(OUTSIDE)
def test_ids_are_given_once_and_change_nothing_else(text: str) -> None:
    text = f"## TODO\n{text}"
    before = plan_file.todos(text)

    after = plan_file.with_ids(text, numbered)

    ids = [item.id for item in plan_file.todos(after)]
    assert [(item.title, item.state) for item in plan_file.todos(after)] == [
        (item.title, item.state) for item in before
    ]
    assert None not in ids
    assert len(set(ids)) == len(ids)
    assert plan_file.with_ids(after, numbered) == after
    bare = re.sub(r" ?<!-- prloom:todo t-?[0-9]+ -->", "", after)
    assert bare == re.sub(r" ?<!-- prloom:todo t-?[0-9]+ -->", "", text)


def test_why_a_todo_is_blocked_stands_in_its_first_line() -> None:
    blocked = plan_file.set_reason(plan_file.set_state(PLAN, "t-1", "blocked"), "t-1", "Which\n<!-- cache?")

    assert blocked == PLAN.replace(
        "- [ ] Cache the session <!-- prloom:todo t-1 -->\n",
        "- [b] Cache the session <!-- prloom:todo t-1 -->\n  Blocked: Which <\\!-- cache? <!-- prloom:blocked -->\n",
    )
    item = plan_file.todos(blocked)[1]
    assert item == TodoItem(
        "t-1", "Cache the session", "blocked", "The reviewer wants this.\n\nTwice.", reason="Which <!-- cache?"
    )
    again = plan_file.set_reason(blocked, "t-1", "Other")
    assert again.count("Blocked:") == 1
    assert plan_file.todos(again)[1].reason == "Other"
    assert plan_file.set_state(again, "t-1", "open") == PLAN
    assert plan_file.set_state(again, "t-1", "done") == PLAN.replace("- [ ] Cache", "- [x] Cache")
    assert plan_file.set_reason(PLAN, "t-9", "why") == PLAN


def test_a_reason_is_indented_like_the_context_and_goes_alone() -> None:
    text = "## TODO\n- [b] a <!-- prloom:todo 1 -->\n1. [b] b <!-- prloom:todo 2 -->\n   why\n"

    one = plan_file.set_reason(text, "1", "x")
    both = plan_file.set_reason(one, "2", "y")

    assert one == text.replace("1 -->\n", "1 -->\n  Blocked: x <!-- prloom:blocked -->\n")
    assert both == one.replace("   why", "   Blocked: y <!-- prloom:blocked -->\n   why")
    assert plan_file.set_state(both, "2", "blocked") == both
    assert plan_file.set_state(both, "2", "open") == one.replace("[b] b", "[ ] b")


def test_why_a_person_blocked_a_todo_is_the_first_line_of_its_context() -> None:
    emptied = "- [b] d\n  Blocked: <!-- prloom:blocked -->\n  ask ann\n"
    text = f"## TODO\n- [b] a\n\n  wait for bob\n  please\n- [b] c\n{emptied}"

    assert [item.reason for item in plan_file.todos(text)] == ["wait for bob", None, "ask ann"]


@settings(deadline=None)
@given(OUTSIDE, TODOS.filter(bool), OUTSIDE)
def test_a_reason_is_read_again_and_taken_away_without_a_trace(text: str, todos: list[PlanTodo], reason: str) -> None:
    grown = plan_file.append_todos(text, todos)
    chosen = todos[0].id

    blocked = plan_file.set_reason(plan_file.set_state(grown, chosen, "blocked"), chosen, reason)

    items = {item.id: item for item in plan_file.todos(blocked)}
    words = markdown.one_line(reason)
    assert (items[chosen].reason or "") == (words or (items[chosen].context.split("\n")[0].strip()))
    assert plan_file.set_state(blocked, chosen, "open") == grown


def test_the_line_ends_of_windows_are_kept() -> None:
    todo = PlanTodo("t-2", "x", "y\nz")

    grown = plan_file.append_todos(plan_file.set_state(PLAN.replace("\n", "\r\n"), "t-1", "done"), [todo])

    assert grown.count("\n") == grown.count("\r\n")
    assert grown.replace("\r\n", "\n") == plan_file.append_todos(plan_file.set_state(PLAN, "t-1", "done"), [todo])
    assert plan_file.todos(grown)[1].context == "The reviewer wants this.\n\nTwice."
    assert plan_file.counts("## TODO\r\n- [ ]\r\n") == (1, 0)
    assert plan_file.append_todos("a\r\nb", [todo]).count("\r\n") == 8
    assert plan_file.append_todos("a\r\nb\r", [todo]) == plan_file.append_todos("a\r\nb", [todo])
    text = "# t\r\n## TODO\r\n- [b] a <!-- prloom:todo 1 -->"
    assert plan_file.set_reason(text, "1", "x") == f"{text}\r\n  Blocked: x <!-- prloom:blocked -->"
    assert plan_file.set_reason(plan_file.set_reason(text, "1", "x"), "1", "") == text


def test_a_byte_order_mark_hides_nothing() -> None:
    assert plan_file.title("\ufeff# x\n") == "x"
    assert plan_file.append_todos("\ufeff", [PlanTodo("1", "x")]).startswith("\ufeff")


def work(function: Callable[[], object]) -> int:
    """Count the calls, of Python and of C, that the function makes."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] item\n",
        "- [ ] item <!-- prloom:todo t --> <!-- prloom:todo \n",
        "  - - - - * + 1. [ ] nested\n",
        "\n",
        "```\n",
        "## TODO\n",
        "<!-- -->\n",
        "- [ ] a\n  b\n\n\n",
    ],
)
def test_the_work_grows_no_faster_than_the_plan(line: str) -> None:
    def grow(times: int) -> int:
        text = "## TODO\n" + line * times
        return work(lambda: (plan_file.todos(text), plan_file.append_todos(text, [PlanTodo("n", "x", line)])))

    small, large = grow(200), grow(800)

    assert large <= 4.1 * small


@pytest.mark.parametrize("piece", ["- ", "[ ] ", "#", "`", "<!--", "-->", "\\", "> ", "1.", "<!-- prloom:todo ", " "])
def test_the_work_grows_no_faster_than_a_line(piece: str) -> None:
    def grow(times: int) -> int:
        text = "## TODO\n- [ ] " + piece * times + "\n" + piece * times
        return work(lambda: (plan_file.todos(text), plan_file.append_todos(text, [PlanTodo("n", "x", piece * times)])))

    small, large = grow(5_000), grow(20_000)

    assert large <= 4.1 * small
