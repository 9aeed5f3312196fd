from __future__ import annotations

import pytest

from prloom.core.text import markdown

NOT_A_SPACE = "\u00a0"


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        *(("```python", "```"), ("   ~~~~", "~~~~"), ("   <!-- a", "-->")),
        *(("    ```", ""), ("\t```", ""), ("X```", ""), ("``", ""), ("``` a`b", ""), ("    <!-- a", "")),
        *(("<!-- a -->", ""), ("a", "")),
    ],
)
def test_the_mark_that_ends_a_block_is_told_by_the_line_that_opens_it(line: str, mark: str) -> None:
    assert markdown.fence(line) == mark


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        *(("# A", (1, "A")), ("   ## B ##", (2, "B")), ("###### F", (6, "F")), ("##\tT", (2, "T"))),
        *(("#", (1, "")), ("# #", (1, "")), ("# A#", (1, "A#")), ("# A\t#", (1, "A")), ("# A X", (1, "A X"))),
        *(("####### G", (0, "")), ("#A", (0, "")), ("    # A", (0, "")), ("\t# A", (0, "")), ("X# A", (0, ""))),
        *(("#X A", (0, "")), ("A", (0, ""))),
    ],
)
def test_a_heading_is_told_with_its_level_and_its_text(line: str, heading: tuple[int, str]) -> None:
    assert markdown.heading(line) == heading


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        *(("- [ ] a", 3), ("12) [b] a", 5), ("123456789. [ ] a", 12), (" \t- [X] a", 5), ("-\t[ ] a", 3), ("- [ ]", 3)),
        *((f"{NOT_A_SPACE}- [ ] a", None), ("X- [ ] a", None), ("a [ ] b", None), ("1234567890. [ ] a", None)),
        *(("-     [ ] a", None), ("-[ ] a", None), ("- [ ]a", None), ("- [q] a", None)),
    ],
)
def test_the_mark_of_a_checkbox_is_found_where_there_is_one(line: str, mark: int | None) -> None:
    assert markdown.checkbox(line) == mark


@pytest.mark.parametrize(
    ("line", "column"), [("a", 0), ("   a", 3), ("\ta", 4), (" \ta", 4), ("  \t a", 5), ("\t\ta", 8), ("", 0)]
)
def test_a_tab_goes_on_to_the_next_column_of_four(line: str, column: int) -> None:
    assert markdown.indentation(line) == column


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        *(("# a", "\\# a"), ("  # a", "  \\# a"), ("\\# a", "\\\\# a"), ("- [ ] a", "\\- [ ] a"), ("[x] a", "\\[x] a")),
        *(("===", "\\==="), ("---", "\\---"), ("a --> b", "a --\\> b")),
        *((line, line) for line in ("a", "[q] a", "ab] c", "X# a", "\\X# a", "=X=", "-X-", "")),
    ],
)
def test_what_would_be_a_part_of_a_plan_is_escaped_and_comes_back(line: str, escaped: str) -> None:
    assert markdown.escaped(line) == escaped
    assert markdown.unescaped(escaped) == line


def test_a_text_is_cleaned_line_by_line() -> None:
    assert markdown.clean("\n a \r\nb\rc\x00d\u202ee\tf\ud800\n\n") == (" a", "b", "cde\tf?")


def test_hashes_at_the_end_of_a_heading_come_back() -> None:
    assert [markdown.plain_heading(text) for text in ("A \\##", "A\\X", "A\\", "A")] == ["A ##", "A\\X", "A\\", "A"]
