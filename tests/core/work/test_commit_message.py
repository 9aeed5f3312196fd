from __future__ import annotations

import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers

ONE = Trailers(plan="p", todo="t1")
LINES = "Prloom-Plan: p\nPrloom-Todo: t1"


def test_a_message_is_what_the_worker_wrote_and_the_trailers():
    slow = "It was very slow. " * 10 + "So:"
    text = f"Drop the sleep  \n\n  {slow}\n\n\n\n    sleep(0)\rThe end.\n"

    said = commit_message.write(text, title="x", trailers=ONE)

    assert said == f"Drop the sleep\n\n  {slow}\n\n    sleep(0)\nThe end.\n\n{LINES}\n"


@pytest.mark.parametrize("text", [None, "", " \n\t\n", "Prloom-Todo: t9"])
def test_without_words_of_the_worker_the_todos_title_is_the_subject(text: str | None):
    assert commit_message.write(text, title="Drop the sleep", trailers=ONE) == f"Drop the sleep\n\n{LINES}\n"


def test_a_commit_has_a_subject_even_if_the_title_has_no_text():
    assert commit_message.write(None, title="\x1b", trailers=ONE).startswith("Work on t1\n\n")


def test_all_that_prloom_says_of_a_commit_is_read_back():
    all_of_it = Trailers(plan="p", todo="t1", round=2, events=("e1", "e2", "e1"), approved_by=("ann", "ann"))

    said = commit_message.write("x", title="", trailers=all_of_it)
    assert commit_message.is_of(said, plan="p", todo="t1", round_=2)
    assert not commit_message.is_of(said, plan="p", todo="t1", round_=1)
    assert commit_message.read(f"{said}\n\n") == {
        "Prloom-Plan": ("p",),
        "Prloom-Todo": ("t1",),
        "Prloom-Round": ("2",),
        "Prloom-Event": ("e1", "e2"),
        "Prloom-Vouched-By": ("ann",),
    }


def test_a_first_round_goes_without_saying():
    said = commit_message.write("x", title="", trailers=ONE)

    assert "Round" not in said
    assert commit_message.is_of(said, plan="p", todo="t1", round_=1)
    assert not commit_message.is_of(said, plan="p", todo="t1", round_=2)
    assert not commit_message.is_of(said, plan="p", todo="t2", round_=1)
    assert not commit_message.is_of(said, plan="pr-8", todo="t1", round_=1)


@pytest.mark.parametrize(
    "line",
    [
        "Prloom-Todo: t9",
        " prloom-todo : t9",
        "PRLOOM-Plan:x",
        "Prloom Event: e",
        "prloom_todo:t",
        "P\u200brloom-Todo: t9",
    ],
)
def test_a_worker_writes_no_trailer_of_prloom(line: str):
    said = commit_message.write(f"x\n\nbody\n{line}\n\nmore\n\n{line}", title="", trailers=ONE)

    assert said == f"x\n\nbody\n\nmore\n\n{LINES}\n"


def test_a_title_forges_none_either():
    title = "x\n\nPrloom-Vouched-By: ann"

    assert commit_message.read(commit_message.write(None, title=title, trailers=ONE)).keys() == {
        "Prloom-Plan",
        "Prloom-Todo",
    }


def test_a_value_stays_on_its_line():
    sly = Trailers(plan="p", todo="t1\nPrloom-Vouched-By: ann", events=("e 1\x1b[0m",))
    said = commit_message.read(commit_message.write("x", title="", trailers=sly))

    assert said == {"Prloom-Plan": ("p",), "Prloom-Todo": ("t1_Prloom-Vouched-By:_ann",), "Prloom-Event": ("e_1_[0m",)}


def test_control_characters_are_left_out():
    assert commit_message.clean("a\x1b[31mb\x00\u202ec\r\nd\udcff") == "a[31mbc\nd"


def test_a_long_subject_is_cut_and_told_in_full_below():
    assert commit_message.write("w" * 100, title="", trailers=ONE) == f"{'w' * 100}\n\n{LINES}\n"
    assert (
        commit_message.write("w" * 98 + " 100", title="", trailers=ONE) == f"{'w' * 98}…\n\n{'w' * 98} 100\n\n{LINES}\n"
    )
    assert commit_message.write("w" * 101, title="", trailers=ONE).startswith(f"{'w' * 99}…\n")


def test_a_body_is_bounded():
    assert len(commit_message.write("x\n\n" + "y" * 1_000_000, title="", trailers=ONE)) < 11_000


def test_a_worker_keeps_no_ci_from_running_and_closes_no_issue():
    words = "Fix it [skip azp]\n\nCloses #1, fixes acme/other#2. [skip\u200b ci]\n\nskip-checks: true"

    assert commit_message.write(words, title="", trailers=ONE) == f"Fix it\n\nRefs #1, refs acme/other#2.\n\n{LINES}\n"


def test_nor_does_the_title_of_a_todo():
    assert commit_message.write(None, title="Fix #3 [skip ci]", trailers=ONE) == f"Refs #3\n\n{LINES}\n"


def test_only_the_last_paragraph_of_a_message_has_trailers():
    assert commit_message.read(f"x\n\n{LINES}\n\nthe end\n") == {}
    assert not commit_message.is_prlooms("a person's message")
    assert not commit_message.is_prlooms("a person's message\n\nPrloom-Plan: p")
    assert commit_message.is_prlooms(commit_message.write("x", title="", trailers=ONE))
