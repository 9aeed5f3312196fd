from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridges.local import requested_items, review
from bridges.local.requested_items import RequestedItem

MARK = "<!-- prloom:action a-00000000000000000000 -->"


class FileReads:
    """Looks at one file again and again, with its cursor stored in between."""

    def __init__(self) -> None:
        self.state: object = None
        self.ended: set[str] = set()

    def at(self, *lines: str) -> list[str]:
        """Return the ids that are new after the file has changed to these lines."""
        read = review.parse("\n".join(["## ready", *lines, ""]))
        known, news = requested_items.update(
            "pr-7", read.items, requested_items.load(self.state), self.ended.__contains__
        )
        self.state = json.loads(json.dumps(requested_items.dump(known)))
        self.edits = {each.request.id: each.edited.id for each in news if each.edited}
        return [each.request.id for each in news]


@pytest.fixture
def reads() -> FileReads:
    return FileReads()


def ids(*lines: str) -> list[str]:
    return FileReads().at(*lines)


ONE, TWO, THREE = ids("- [ ] one", "- [ ] two", "- [ ] three")


def test_the_ids_do_not_depend_on_where_the_items_stand() -> None:
    assert ids("- [ ] two", "", "### part", "  * [ ] one") == [TWO, ONE]


def test_the_ids_do_not_depend_on_where_lines_are_broken() -> None:
    assert ids("- [ ] please rename it") == ids("- [ ] please", "  rename  it")


def test_the_ids_depend_on_plan_words_and_file_position() -> None:
    variants = [
        ["- [ ] one"],
        ["- [ ] One"],
        ["- [ ] one", "  file: a"],
        ["- [ ] one", "  file: b"],
        ["- [ ] one", "  file: a", "  line: 1"],
        ["- [ ] one", "  file: a", "  line: 1", "  side: LEFT"],
    ]
    items = review.parse("## ready\n- [ ] one\n").items

    known = [ids(*lines)[0] for lines in variants] + [requested_items.digest("pr-8", items[0])]

    assert len(set(known)) == len(variants) + 1


def test_an_item_put_above_the_others_is_the_only_new_one(reads: FileReads) -> None:
    reads.at("- [ ] one", "- [ ] two")

    assert reads.at("- [ ] three", "- [ ] one", "- [ ] two") == [THREE]
    assert reads.at("- [ ] two", "- [ ] three", "- [ ] one") == []


def test_an_item_that_is_checked_was_never_asked(reads: FileReads) -> None:
    assert reads.at("- [x] one") == []
    assert reads.at("- [ ] one") == [ONE]


def test_neither_a_check_nor_a_reply_makes_an_item_new(reads: FileReads) -> None:
    reads.at("- [ ] one")

    assert reads.at("- [ ] one", f"  > {MARK}", "  > Done.") == []
    assert reads.at("- [x] one", f"  > {MARK}", "  > Done.") == []


def test_an_editor_that_saves_what_it_had_before_the_check_does_not_ask_again(reads: FileReads) -> None:
    reads.at("- [ ] one")
    reads.at("- [x] one", f"  > {MARK}", "  > Done.")

    assert reads.at("- [ ] one") == []


def test_an_item_that_is_moved_by_cutting_saving_and_pasting_is_no_new_event(reads: FileReads) -> None:
    reads.at("- [ ] one", "- [ ] two", f"  > {MARK}", "  > Why?", "- [x] three")

    assert reads.at() == []
    assert reads.at("- [x] three", "- [ ] two", f"  > {MARK}", "  > Why?", "- [ ] one") == []


@pytest.mark.parametrize(
    "ended", [["- [x] one"], ["- [ ] one", f"  > {MARK}", "  > Because."]], ids=["done", "answered"]
)
def test_a_request_that_has_ended_and_was_taken_out_can_be_made_again(reads: FileReads, ended: list[str]) -> None:
    reads.at("- [ ] one")
    reads.at(*ended)
    reads.at()

    assert reads.at("- [ ] one") == [f"{ONE}-1"]
    assert reads.at("- [ ] one") == []


def test_so_can_one_of_which_prloom_says_that_it_has_ended(reads: FileReads) -> None:
    reads.at("- [ ] one")
    reads.at()
    reads.ended = {ONE}

    assert reads.at("- [ ] one") == [f"{ONE}-1"]
    assert reads.at("- [ ] one") == []


def test_an_item_that_stays_is_no_new_request_because_it_has_ended(reads: FileReads) -> None:
    reads.at("- [ ] one")
    reads.ended = {ONE}

    assert reads.at("- [ ] one") == []


def test_without_its_cursor_an_item_takes_the_place_of_none_that_has_ended(reads: FileReads) -> None:
    reads.ended = {ONE, f"{ONE}-1", f"{ONE}-3"}

    assert reads.at("- [ ] one", "- [ ] one") == [f"{ONE}-2", f"{ONE}-4"]


def test_without_its_cursor_an_answered_item_that_has_ended_is_no_new_event(reads: FileReads) -> None:
    reads.ended = {ONE}

    assert reads.at("- [ ] one", f"  > {MARK}", "  > Done.") == []
    assert reads.at("- [ ] one", f"  > {MARK}", "  > Done.", "- [ ] one") == [f"{ONE}-1"]


def test_equal_items_are_several_requests() -> None:
    assert ids("- [ ] one", "- [ ] two", "- [ ] one") == [ONE, TWO, f"{ONE}-1"]


def test_a_request_beside_an_equal_one_that_is_done_is_new_wherever_it_is_put() -> None:
    for new in (["- [ ] one", "- [x] one"], ["- [x] one", "- [ ] one"]):
        reads = FileReads()
        reads.at("- [ ] one")
        reads.at("- [x] one")

        assert reads.at(*new) == [f"{ONE}-1"]


def test_tidying_up_what_is_done_requests_nothing_again(reads: FileReads) -> None:
    reads.at("- [x] one")
    reads.at("- [x] one", "- [ ] one")

    assert reads.at("- [ ] one") == []
    assert reads.at("- [ ] one", "- [ ] one") == [f"{ONE}-1"]


def test_without_its_cursor_an_item_that_was_answered_is_no_new_event() -> None:
    answer = (f"  > {MARK}", "  > Which one?")
    (unanswered,) = ids("- [ ] three", "  That one.")
    reads = FileReads()

    assert reads.at("- [ ] one", *answer, "- [ ] two", "- [ ] three", *answer, "  That one.") == [TWO, unanswered]
    assert reads.at("- [ ] one", *answer, "- [ ] two") == []


def test_an_answered_item_whose_words_were_edited_is_a_new_event() -> None:
    answer = (f"  > {MARK}", "  > Done.")
    reads = FileReads()
    reads.at("- [ ] one", *answer)

    assert reads.at("- [ ] two", *answer) == [TWO]


def test_an_edit_is_found_by_its_position(reads: FileReads) -> None:
    reads.at("- [ ] two", "- [ ] on", "- [ ] three")

    assert reads.at("- [ ] two", "- [ ] one", "- [ ] three") == [ONE]
    assert reads.edits == {ONE: ids("- [ ] on")[0]}


def test_an_answer_to_a_reply_is_an_edit_of_its_item(reads: FileReads) -> None:
    reads.at("- [ ] one")
    (new,) = reads.at("- [ ] one", f"  > {MARK}", "  > Which?", "  That.")

    assert reads.edits == {new: ONE}


def test_where_several_items_went_or_came_no_edits_are_found(reads: FileReads) -> None:
    reads.at("- [ ] one", "- [ ] two")

    reads.at("- [ ] three", "- [ ] four")

    assert reads.edits == {}


def test_an_item_that_was_moved_is_no_edit(reads: FileReads) -> None:
    reads.at("- [ ] one", "- [ ] two")

    assert reads.at("- [ ] three", "- [ ] two", "- [ ] one") == [THREE]
    assert reads.edits == {}


def test_the_cursor_is_bounded(reads: FileReads) -> None:
    for number in range(300):
        reads.at(f"- [ ] request {number}", "- [ ] one")

    assert isinstance(reads.state, list)
    assert len(reads.state) == 202


def test_a_cursor_that_is_not_ours_is_no_cursor() -> None:
    for state in (None, 7, "x", {"a": 1}):
        assert requested_items.load(state) is None
    for state in ([1], [["a"]], [["a", "b", True, True]], [None]):
        assert requested_items.load(state) == ()


def test_a_request_finds_its_item() -> None:
    items = review.parse("## ready\n- [ ] one\n- [ ] two\n- [x] one\n").items

    def found(request: str) -> int | None:
        item = requested_items.find(requested_items.by_words("pr-7", items), request)
        return item.start if item else None

    assert (found(ONE), found(f"{ONE}-1"), found(f"{ONE}-7"), found(TWO), found(THREE)) == (3, 1, 1, 2, None)
    assert (found(""), found(f"{ONE}-x"), found(f"{ONE}-{'9' * 5000}")) == (None, 3, 3)


a_line = st.sampled_from(["- [ ] one", "- [x] one", "- [ ] two", "- [x] two", "- [ ] three", f"  > {MARK}", "  more"])


@settings(deadline=None)
@given(st.lists(st.lists(a_line, max_size=6), max_size=6))
def test_however_the_file_is_edited_no_id_comes_twice(versions: Sequence[Sequence[str]]) -> None:
    reads = FileReads()

    seen = [new for lines in versions for new in reads.at(*lines)]

    assert len(seen) == len(set(seen))


@settings(deadline=None)
@given(st.lists(st.lists(a_line, max_size=6), max_size=6))
def test_however_the_file_is_edited_every_open_item_has_been_asked(versions: Sequence[Sequence[str]]) -> None:
    reads = FileReads()

    for lines in versions:
        reads.at(*lines)

        items = review.parse("\n".join(["## ready", *lines, ""])).items
        there = [request.words for request in requested_items.load(reads.state) if request.here]
        for item in items:
            if not item.checked:
                assert requested_items.digest("pr-7", item) in there
                there.remove(requested_items.digest("pr-7", item))


def test_a_request_is_stored_as_plain_json() -> None:
    requests = (RequestedItem("a", 0, done=True, here=False), RequestedItem("b", 3, done=False, here=True))

    assert requested_items.load(json.loads(json.dumps(requested_items.dump(requests)))) == requests
