"""What people write around the cockpit keeps every byte, and a box counts only where prloom put it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.core.pull_requests.cockpit import BOXES, CockpitView, render
from prloom.core.pull_requests.cockpit_markers import BEGIN, END, cleared, merge, ticked

OLD = f"{BEGIN}\nold\n{END}"
NEW = f"{BEGIN}\nnew\n{END}"
PEOPLE = st.text(alphabet=st.sampled_from("ab \t\r\n<!->"), max_size=30)


@pytest.mark.parametrize(
    ("existing", "merged"),
    [
        ("", NEW),
        ("\r\n", f"\r\n{NEW}"),
        ("Mine.", f"Mine.\n\n{NEW}"),
        ("Mine.\n", f"Mine.\n\n{NEW}"),
        ("Mine.\n\n", f"Mine.\n\n{NEW}"),
        ("Mine.\r\n\r\n", f"Mine.\r\n\r\n{NEW}"),
        (OLD, NEW),
        (f"Mine. \r\n{OLD}\r\nYours.\t", f"Mine. \r\n{NEW}\r\nYours.\t"),
        (f"  {BEGIN}  \r\nold\r\n {END} \r\n", f"  {NEW} \r\n"),
    ],
    ids=["nothing", "empty line", "text", "line", "paragraph", "with CRLF", "cockpit", "texts around it", "blanks"],
)
def test_the_cockpit_is_replaced_or_comes_last(existing: str, merged: str) -> None:
    assert merge(existing, NEW) == merged


@pytest.mark.parametrize(
    ("existing", "merged"),
    [
        (f"{BEGIN}\nMine.", f"{BEGIN}\nMine.\n\n{NEW}"),
        (f"Mine.\n{END}\nYours.", f"Mine.\n{END}\nYours.\n\n{NEW}"),
        (f"{END}\nMine.\n{BEGIN}", f"{END}\nMine.\n{BEGIN}\n\n{NEW}"),
        (f"{BEGIN}\nMine.\n{OLD}", f"{BEGIN}\nMine.\n{NEW}"),
        (f"{OLD}\nMine.\n{END}", f"{NEW}\nMine.\n{END}"),
        (f"{OLD}\nMine.\n{OLD}\nYours.", f"{NEW}\nMine.\n\nYours."),
        (f"see {BEGIN} and\n{END} too", f"see {BEGIN} and\n{END} too\n\n{NEW}"),
    ],
    ids=["no end", "no begin", "swapped", "a begin before", "an end after", "twice", "within a line"],
)
def test_a_marker_out_of_place_costs_no_line_of_anybody(existing: str, merged: str) -> None:
    assert merge(existing, NEW) == merged
    assert merge(merged, NEW) == merged


def test_a_cockpit_that_is_the_same_but_for_its_ends_of_line_stays() -> None:
    existing = f"Mine.\r\n\r\n{OLD}".replace("\n", "\r\n")

    assert merge(existing, OLD) == existing


@given(PEOPLE, PEOPLE)
def test_every_byte_around_the_cockpit_survives(before: str, after: str) -> None:
    existing = f"{before}\n{OLD}\n{after}"

    assert merge(existing, NEW) == f"{before}\n{NEW}\n{after}"
    assert merge(merge(before, OLD), NEW) == merge(before, NEW)
    assert merge(before, NEW).startswith(before)


def described(*boxes: str) -> str:
    """Return a description whose cockpit has these boxes ticked, as an editor in a browser would save it."""
    text = f"- [x] mine <!-- prloom:box go -->\n\n{render(CockpitView(boxes=BOXES))}\n\nYours."
    for box in boxes:
        line = next(
            line for line in text.split("\n") if line.endswith(f"<!-- prloom:box {box} -->") and "mine" not in line
        )
        text = text.replace(line, line.replace("[ ]", "[x]" if box != "go" else "[X]"))
    return text.replace("\n", "\r\n")


def test_the_boxes_that_are_ticked_are_read_in_their_order() -> None:
    assert ticked(described()) == ()
    assert ticked(described("rebase", "pause", "go")) == ("pause", "rebase", "go")


def test_a_box_outside_the_cockpit_is_none() -> None:
    assert ticked("- [x] go <!-- prloom:box go -->") == ()
    assert ticked(f"{BEGIN}\n- [x] go <!-- prloom:box go -->") == ()


def test_a_box_that_is_doubled_counts_once() -> None:
    line = "- [x] go <!-- prloom:box go -->"

    assert ticked(f"{BEGIN}\n{line}\n{line}\n{END}") == ("go",)


def test_clearing_changes_the_marks_of_the_boxes_only() -> None:
    assert cleared(described("pause", "go")) == described()
    assert cleared("- [x] go <!-- prloom:box go -->") == "- [x] go <!-- prloom:box go -->"
