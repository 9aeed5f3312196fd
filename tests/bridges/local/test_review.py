from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridges.local import rendering, review
from bridges.local.edits import Edits
from bridges.local.review import ReviewFile, ReviewItem
from prloom.api import marked, marker
from prloom.engine.adoption import adopt

ACTION = "a-0123456789abcdef0123"
MARK = marker("a-00000000000000000000")


def items(text: str) -> tuple[ReviewItem, ...]:
    return review.parse(text).items


def texts(text: str) -> list[str]:
    return [item.text for item in items(dedent(text))]


def the_item(text: str) -> ReviewItem:
    (item,) = items(dedent(text))
    return item


def words(item: ReviewItem) -> tuple[object, ...]:
    return item.text, item.body, item.file, item.line, item.side, item.checked


def beneath(read: ReviewFile, item: ReviewItem, lines: list[str]) -> str:
    edits = Edits(read)
    edits.add_beneath(item, lines)
    return edits.text()


def under_replies(read: ReviewFile, lines: list[str]) -> str | None:
    edits = Edits(read)
    return edits.text() if edits.add_under_replies(lines) else None


def checked(read: ReviewFile, item: ReviewItem) -> str:
    edits = Edits(read)
    edits.check(item)
    return edits.text()


# ---- items


def test_items_are_read_with_what_is_beneath_them() -> None:
    text = """\
        # Review

        ## ready

        - [ ] Rename `foo` to `bar`
          in the tests too
          file: src/a.py
          line: 12
          side: RIGHT
        - [x] Add a test

        ## done
        """

    first, second = items(dedent(text))

    assert first.text == "Rename `foo` to `bar`\nin the tests too"
    assert (first.file, first.line, first.side, first.checked) == ("src/a.py", 12, "RIGHT", False)
    assert (second.text, second.checked) == ("Add a test", True)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\ufeff",
        "a paragraph\n",
        "- group\n",
        "- [x] done\n",
        "## Ready\n",
        "## ready ##\n",
        "ready\n---\n",
        "## ready\n### part\n",
        "# notes\n## ready\n",
        "### part\n",
        adopt.REVIEW,
        adopt.REVIEW.rpartition("## ready")[0],
    ],
)
def test_an_item_above_every_heading_or_under_ready_is_feedback(before: str) -> None:
    assert [item.text for item in items(f"{before}- [ ] one\n") if not item.checked] == ["one"]


@pytest.mark.parametrize("heading", ["## notes", "# notes", "notes\n---", "notes\n===", "##", "# ready", "## ready?"])
@pytest.mark.parametrize("above", ["", "## ready\n"])
def test_an_item_under_another_heading_of_the_persons_is_theirs(heading: str, above: str) -> None:
    read = review.parse(f"{above}- [ ] one\n\n{heading}\n- [ ] two\n\n  ## ready\n### part\n- [ ] three\n")

    assert [item.text for item in read.items] == ["one"]
    assert read.ignored == ()


def test_what_is_under_replies_talks_about_prlooms_messages_and_an_item_there_is_reported() -> None:
    assert texts("## ready\n- [ ] one\n\n## replies\n> Which?\n\n- [ ] two\n- [x] three\n") == ["one"]
    assert ignored("## replies\n> Which?\n\n- [ ] two\n- [x] three\n- [ ]\n") == [
        (4, "it is under `## replies`; write it under `## ready`")
    ]


def test_a_heading_ends_the_item() -> None:
    assert texts("## ready\n- [ ] one\n\n### part\n- [ ] two\n") == ["one", "two"]


def replied(*lines: str, before: str = "## ready\n") -> str:
    """Return the file after a reply under `## replies`, to which lines were appended."""
    edits = Edits(review.parse(before))
    edits.add_under_replies(rendering.quotation(ACTION, "Done.\n\n- [ ] not an item"))
    return edits.text() + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("before", ["", "## ready\n", "# Mine\n", adopt.REVIEW])
def test_an_item_that_is_appended_to_the_file_counts_also_after_a_reply(before: str) -> None:
    text = replied("- [ ] one", before=before)
    edits = Edits(review.parse(text))
    edits.add_under_replies(rendering.quotation("a-00000000000000000001", "Something else."))

    for each in (text, edits.text(), edits.text() + "- [ ] two\n"):
        found = items(each)
        assert (found[0].text, found[0].answered) == ("one", False)
        assert len(found) == 1 + each.endswith("two\n")


def test_a_paragraph_after_a_reply_does_not_belong_to_the_item_before_it() -> None:
    reply = "\n".join(rendering.quotation(ACTION, "Done."))

    assert texts(f"- [ ] one\n{reply}\na note\n") == ["one"]


# ---- what is ignored


def ignored(text: str) -> list[tuple[int, str]]:
    return [(each.line + 1, each.reason) for each in review.parse(dedent(text)).ignored]


def test_a_line_in_a_block_that_looks_like_an_item_is_reported() -> None:
    reason = "it is in the block of code or the comment that begins in line 2"

    assert ignored("text\n```\n- [ ] one\n- [x] done\n- two\n") == [(3, reason)]
    assert ignored("text\n<!--\n- [ ] one\n-->\n- [ ] two\n") == [(3, reason)]


MISSPELT = ["-[ ] one", "- [] one", "- [ ]one", "[ ] one", "[] one", "*[ ] one", "1.[] one"]
OTHER_SIGNS = ["\u2022 [ ] one", "- \u2610 one", "- \uff3b \uff3d one", "-\u00a0[] one", "\u200b[ ] one"]


@pytest.mark.parametrize("line", [*MISSPELT, *OTHER_SIGNS])
def test_a_line_that_is_nearly_an_item_is_reported(line: str) -> None:
    assert ignored(f"{line}\n") == [(1, "an item begins with `- [ ] `")]


@pytest.mark.parametrize(
    "line",
    [
        "-\u00a0[ ] one",
        "- [\u00a0] one",
        "- [ ]\u00a0one",
        "-\u2003[\u202f]\u3000one",
        "\u2013 [ ] one",
        "\u2014 [ ] one",
        "\ufeff- [ ] one",
        "\u200b- [ ] one",
        "\u00a0\u00a0- [ ] one",
    ],
)
def test_an_item_may_have_other_spaces_and_dashes_as_programs_put_them_in(line: str) -> None:
    file = review.parse(f"text\n\n{line}\n- [ ] two\n")

    assert [item.text for item in file.items] == ["one", "two"]
    assert file.ignored == ()


@pytest.mark.parametrize("line", ["\ufeff- [ ] one", "\u200b- [ ] one", "\u2013 [\u00a0] one", "\u00a0- [ ] one"])
@pytest.mark.parametrize("before", ["", "text\n\n"])
def test_the_box_of_such_an_item_is_checked_in_its_place(before: str, line: str) -> None:
    file = review.parse(f"{before}{line}\n")
    edits = Edits(file)
    edits.check(file.items[0])

    assert edits.text() == before + line.replace("[ ]", "[x]").replace("[\u00a0]", "[x]") + "\n"
    assert review.parse(edits.text()).items[0].checked


def test_an_item_in_a_quotation_is_reported_and_one_in_a_reply_of_prlooms_is_not() -> None:
    assert ignored("> - [ ] one\n") == [(1, "it is in a quotation")]
    assert ignored(replied()) == []


@pytest.mark.parametrize(
    "line", ["- [ ] one", "- [x] one", "- [ ]", "- one", "[ ](link)", "[][a]", "[]: x", "- [y] one", "a [ ] b", "x[]"]
)
def test_what_is_not_meant_as_an_item_is_not_reported(line: str) -> None:
    assert ignored(f"{line}\n") == []


def test_what_belongs_to_an_item_is_not_reported() -> None:
    assert ignored("- [ ] one\n\n  ```\n  - [ ] an example\n  ```\n  > - [ ] quoted\n  [] more\n") == []


# ---- boxes


@pytest.mark.parametrize(
    "bullet", ["- [ ] ", "* [ ] ", "+ [ ] ", "1. [ ] ", "12) [ ] ", "-   [ ] ", "   - [ ] ", "\t- [ ] "]
)
def test_an_item_is_recognised_by_its_box(bullet: str) -> None:
    assert texts(f"## ready\n{bullet}one\n") == ["one"]


@pytest.mark.parametrize("line", ["- one", "- [] one", "-[ ] one", "- [y] one", "- [ ]one", "> - [ ] one", "[ ] one"])
def test_what_has_no_box_is_no_item(line: str) -> None:
    assert texts(f"## ready\n{line}\n") == []


def test_an_item_without_words_is_not_ready() -> None:
    assert texts("## ready\n- [ ]\n- [ ] \n  file: a.py\n") == []


def test_items_in_blocks_of_code_are_not_items() -> None:
    text = """\
        ## ready
        ```markdown
        - [ ] an example
        ## other
        ```
        - [ ] one
        ~~~~
        - [ ] another example
        ~~~
        ```
        ~~~~
        - [ ] two
        """

    assert texts(text) == ["one", "two"]


def test_items_in_comments_are_not_items() -> None:
    assert texts("## ready\n<!-- one line -->\n- [ ] one\n\n<!--\n- [ ] hidden\n-->\n- [ ] two\n") == ["one", "two"]


def test_what_is_indented_belongs_to_the_item() -> None:
    text = """\
        ## ready
        - [ ] Split the parser

          It has two nouns:

          - [ ] the lexer
          - the tree

          ```py
          def f():
              file: int
          ```
        - [ ] two
        """

    first, second = items(dedent(text))

    assert first.text == (
        "Split the parser\n\nIt has two nouns:\n\n- [ ] the lexer\n- the tree\n\n```py\ndef f():\n    file: int\n```"
    )
    assert (first.file, second.text) == (None, "two")


def test_a_paragraph_goes_on_without_indentation_as_markdown_has_it() -> None:
    assert texts("## ready\n- [ ] one\nand more\n\nnot this\n- [ ] two\n> nor this\n") == ["one\nand more", "two"]


def test_items_under_a_plain_bullet_are_items() -> None:
    assert texts("## ready\n- group\n    - [ ] one\n    - [ ] two\n") == ["one", "two"]


def test_a_field_that_does_not_fit_stays_in_the_text() -> None:
    item = the_item("## ready\n- [ ] one\n  line: 12\n  line: 14\n  side: to side\n  file:\n  file: `a b.py`\n")

    assert item.text == "one\nline: 14\nside: to side\nfile:"
    assert (item.line, item.side, item.file) == (12, None, "a b.py")


@pytest.mark.parametrize("line", ["-3", "1e3", "٣", "99999999", "0x10", "10-12"])
def test_a_line_number_is_a_plain_number(line: str) -> None:
    assert the_item(f"## ready\n- [ ] one\n  line: {line}\n").text == f"one\nline: {line}"


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    item = the_item("\ufeff## ready\r\n- [ ] one\r\n  more\r\n  file: a.py\r\n")

    assert (item.text, item.file) == ("one\nmore", "a.py")


# ---- replies


def answered(text: str) -> str:
    read = review.parse(text)
    return beneath(read, read.items[0], rendering.quotation(ACTION, "Done."))


def test_a_reply_appears_beneath_its_item() -> None:
    text = "## ready\n\n- [ ] one\n  file: a.py\n\n- [ ] two\n"

    assert answered(text) == (f"## ready\n\n- [ ] one\n  file: a.py\n  > {marker(ACTION)}\n  > Done.\n\n- [ ] two\n")


def test_a_reply_is_indented_as_its_item_is() -> None:
    assert answered("## ready\n  1. [ ] one").endswith(f"  1. [ ] one\n     > {marker(ACTION)}\n     > Done.\n")


def test_the_line_ends_of_the_file_are_kept() -> None:
    text = answered("## ready\r\n- [ ] one\r\n- [ ] two")

    assert text == f"## ready\r\n- [ ] one\r\n  > {marker(ACTION)}\r\n  > Done.\r\n- [ ] two"


def test_an_answer_to_a_reply_is_part_of_the_item_together_with_the_reply() -> None:
    item = the_item(f"## ready\n- [ ] one\n  > {MARK}\n  > Which one?\n\n  The first.\n  > {MARK}\n  > Done.\n")

    assert item.text == "one\n\nThe first."
    assert item.body == "one\n\n> Which one?\n\nThe first."
    assert item.answered


def test_a_quotation_of_a_persons_own_is_part_of_the_item() -> None:
    assert the_item("## ready\n- [ ] one\n  > they said\n").text == "one\n> they said"


def test_a_marker_that_a_person_copied_is_not_in_the_text() -> None:
    item = the_item(f"## ready\n- [ ] one {MARK}\n  {MARK}\n")

    assert (marked(item.text), marked(item.body)) == ((), ())


def test_replies_without_an_item_go_under_a_heading_of_their_own() -> None:
    read = review.parse("## ready\n- [ ] one")

    text = under_replies(read, rendering.quotation(ACTION, "Hello.\n\nYou."))

    assert text == f"## replies\n\n> {marker(ACTION)}\n> Hello.\n>\n> You.\n\n## ready\n- [ ] one"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## replies\n\n> hello\n\n## ready\n\n"),
        ("- [ ] one", "- [ ] one\n\n## replies\n\n> hello\n\n## ready\n\n"),
        ("# A\n## ready\n## b\n", "# A\n\n## replies\n\n> hello\n\n## ready\n## b\n"),
        ("A\n\nready\n---\n", "A\n\n## replies\n\n> hello\n\nready\n---\n"),
    ],
)
def test_the_replies_come_before_ready_so_that_what_is_appended_is_ready(before: str, after: str) -> None:
    assert under_replies(review.parse(before), ["> hello"]) == after


def test_the_latest_reply_comes_last_in_its_section() -> None:
    read = review.parse("## Replies\n\n> first\n\n## ready\n- [ ] one\n")

    assert under_replies(read, ["> second"]) == "## Replies\n\n> first\n\n> second\n\n## ready\n- [ ] one\n"


def test_nothing_is_written_into_a_block_that_never_ends() -> None:
    read = review.parse("- [ ] one\n\n\n```\n")

    assert (under_replies(read, ["> reply"]), read.unclosed) == (None, 3)


def test_a_box_is_checked_and_nothing_else_changes() -> None:
    text = "## ready\r\n-  [ ] one [ ]\r\n- [ ] two"
    read = review.parse(text)

    assert checked(read, read.items[0]) == "## ready\r\n-  [x] one [ ]\r\n- [ ] two"
    assert checked(read, read.items[1]) == "## ready\r\n-  [ ] one [ ]\r\n- [x] two"


def test_control_characters_are_shown_and_not_obeyed() -> None:
    lines = rendering.quotation(ACTION, "a\x1b[2J\x07\tb\x9b\ufffd\ud800")

    assert lines[1:] == ["> a␛[2J␇\tb???"]


def test_every_line_break_that_a_reader_may_know_begins_a_line_of_the_quotation() -> None:
    lines = rendering.quotation(ACTION, "\n a\r\nb\rc\x0bd\x0ce\u2028f\u2029g\x85h\x1ci\n\n")

    assert lines[1:] == ["> " + letter for letter in [" a", *"bcdefghi"]]


def test_the_marker_of_another_action_is_defused() -> None:
    assert marked("\n".join(rendering.quotation(ACTION, f"{MARK}\n<!-- prloom:action {MARK}"))) == (ACTION,)


# ---- whatever is in the file, and whatever is said

LINES = (
    "## ready",
    "## ready",
    "## Ready ##",
    "## replies",
    "## other",
    "# title",
    "### part",
    "ready",
    "---",
    "===",
    "",
    " ",
    "- [ ] one",
    "- [x] one",
    "- [ ] two",
    "* [X] three",
    "1. [ ] four",
    "- [ ]",
    "-   [ ] five",
    "  - [ ] nested",
    "\t- [ ] tabbed",
    " - [ ] beside",
    "- no task",
    "  more words",
    "\tmore words",
    "lazy words",
    "  file: src/a.py",
    "  - line: 12",
    "  side: LEFT",
    "  line: twelve",
    "> quoted",
    "  > quoted",
    f"> {MARK}",
    f"  > {MARK}",
    f"    > {MARK}",
    f"  {MARK}",
    "```",
    "~~~~",
    "  ```py",
    "    ```",
    "<!--",
    "-->",
    "<!-- one line -->",
)
unhurried = settings(deadline=None)  # a busy machine is no defect
a_line = st.sampled_from(LINES) | st.text(max_size=12)
a_file = st.builds(
    lambda lines, newline, last: newline.join(["## ready", *lines]) + last,
    st.lists(a_line, max_size=25),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\r\n"]),
)
a_message = st.builds(
    lambda lines, newline: newline.join(lines), st.lists(a_line, max_size=8), st.sampled_from("\n\r\x0b\u2028")
)


@unhurried
@given(a_file, a_message, st.integers(0, 30))
def test_no_reply_beneath_an_item_changes_what_is_read(text: str, message: str, which: int) -> None:
    read = review.parse(text)
    if not read.items:
        return
    item = read.items[which % len(read.items)]

    after = beneath(read, item, rendering.quotation(ACTION, message))

    assert [words(each) for each in items(after)] == [words(each) for each in read.items]
    assert items(after)[which % len(read.items)].answered
    assert marked(after).count(ACTION) == 1


@unhurried
@given(a_file, a_message)
def test_no_reply_under_replies_changes_what_is_read(text: str, message: str) -> None:
    read = review.parse(text)

    after = under_replies(read, rendering.quotation(ACTION, message))

    if after is None:
        assert read.unclosed is not None
        return
    again = review.parse(after)
    assert [words(each) for each in again.items] == [words(each) for each in read.items]
    assert again.replies is not None


@unhurried
@given(a_file, a_message)
def test_a_reply_leaves_every_byte_of_the_person_as_it_was(text: str, message: str) -> None:
    read = review.parse(text)
    if not read.items:
        return
    lines = [f"{read.items[0].indent}{line}{read.newline}" for line in rendering.quotation(ACTION, message)]

    after = beneath(read, read.items[0], rendering.quotation(ACTION, message))

    left = after.replace("".join(lines), "", 1)
    assert left in {text, text + read.newline}


@unhurried
@given(a_file)
def test_checking_a_box_changes_only_that(text: str) -> None:
    read = review.parse(text)
    for number, item in enumerate(read.items):
        after = items(checked(read, item))

        assert [words(each)[:5] for each in after] == [words(each)[:5] for each in read.items]
        assert [each.checked for each in after] == [each.checked or n == number for n, each in enumerate(read.items)]


@unhurried
@given(st.text())
def test_any_text_is_some_review(text: str) -> None:
    assert "".join(review.parse(text).lines) == text


PIECES = [
    " ",
    "\t",
    "#",
    "# ",
    "-",
    "- [ ] ",
    "- [ ] a\n",
    "> ",
    ">\n",
    "`",
    "```\n",
    "~~~\n",
    "<!-- ",
    "<!--\n",
    "a",
    "\r",
]
PIECES += [
    "  - [ ] a\n",
    " \n",
    "---\n",
    "a\n---\n",
    "## ready\n",
    "1. ",
    "file: a\n",
    "  line: 1\n",
    MARK,
    f"> {MARK}\n",
]


@pytest.mark.parametrize("piece", PIECES)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    text = "## ready\n- [ ] one\n" + piece * (100_000 // len(piece)) + "!"
    began = time.process_time()

    review.parse(text)

    assert time.process_time() - began < 8  # what grew with the square would take minutes
