from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.core.text import text_merge

OLD = "a\nb\nc\nd\n"
TEXTS = st.lists(st.sampled_from("abc"), max_size=6).map(lambda letters: "".join(f"{each}\n" for each in letters))


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ("A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"),
        ("A\nb\nc\nd\n", "a\nB\nc\nd\n", "A\nB\nc\nd\n"),
        ("a\nb\nc\nd\ne\n", "a\nc\nd\n", "a\nc\nd\ne\n"),
        ("x\na\nb\nc\nd\n", "A\nb\nc\nd\n", "x\nA\nb\nc\nd\n"),
        ("A\nb\nc\nD\n", "A\nb\nC\nd\n", "A\nb\nC\nD\n"),
        ("A\nb\nc\nd\n", "B\nb\nc\nd\n", None),
        ("a\nb\nc\nd\ne\n", "a\nb\nc\nd\nf\n", None),
        ("a\nd\n", "a\nb\nC\nd\n", None),
    ],
)
def test_two_changes_are_merged_where_they_touch_other_lines(ours: str, theirs: str, both: str | None) -> None:
    assert text_merge.merged(OLD, ours=ours, theirs=theirs) == both
    assert text_merge.merged(OLD, ours=theirs, theirs=ours) == both


@given(TEXTS, TEXTS)
def test_one_change_alone_is_kept_whole(before: str, after: str) -> None:
    assert text_merge.merged(before, ours=after, theirs=before) == after
    assert text_merge.merged(before, ours=before, theirs=after) == after
    assert text_merge.merged(before, ours=after, theirs=after) == after
