from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from prloom.core import marker

TEXTS = st.text(alphabet=st.characters(exclude_characters="\0"))


def test_an_id_is_derived_and_stays_the_same_for_ever() -> None:
    # A literal: posts that stand on pull requests carry these ids, so the derivation must never change.
    assert marker.action_id("gh-1", "memory", 0) == "a-449e3cc7fb605d3dcb9c"


@given(first=st.tuples(TEXTS, TEXTS, st.integers(0, 99)), second=st.tuples(TEXTS, TEXTS, st.integers(0, 99)))
def test_other_events_owners_and_ordinals_have_other_ids(
    first: tuple[str, str, int], second: tuple[str, str, int]
) -> None:
    assert (marker.action_id(*first) == marker.action_id(*second)) is (first == second)


@given(event_id=st.text(), before=st.text(), after=st.text())
def test_a_mark_is_found_in_any_text_that_carries_it(event_id: str, before: str, after: str) -> None:
    ours = marker.action_id(event_id, "triage", 0)

    assert ours in marker.marked(before + marker.marker(ours) + after)


def test_all_marks_of_a_text_are_found_in_their_order() -> None:
    first, second = marker.action_id("a", "x", 0), marker.action_id("b", "x", 0)

    assert marker.marked(f"{marker.marker(second)}\n{marker.marker(first)}") == (second, first)


@given(event_id=st.text(), after=st.text())
def test_the_mark_that_a_text_begins_with_is_told(event_id: str, after: str) -> None:
    ours = marker.action_id(event_id, "triage", 0)

    assert marker.leading(f"\r\n {marker.marker(ours)}{after}") == ours
    assert marker.leading(f"> {marker.marker(ours)}{after}") is None


@given(text=st.text())
def test_a_text_without_a_mark_has_none(text: str) -> None:
    assert marker.marked(text) == ()


def test_a_mark_is_invisible_in_markdown() -> None:
    assert re.fullmatch(r"<!-- [^>-]+-[^>-]+ -->", marker.marker(marker.action_id("e1", "x", 0)))
