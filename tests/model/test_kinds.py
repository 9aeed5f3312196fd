from __future__ import annotations

from typing import get_args

import pytest

from prloom.api import NOTICES, PERMISSIONS, SPEECH
from prloom.model import kinds
from prloom.model.hook_points import HOOKS, HookName


def test_the_notices_are_the_types_that_are_said_to_be() -> None:
    assert NOTICES == (
        "pr_pushed",
        "pr_closed",
        "pr_merged",
        "pr_reopened",
        "comment_deleted",
        "checks_changed",
        "check_passed",
        "conflict_resolved",
    )


def test_feedback_is_what_people_write() -> None:
    assert SPEECH == ("pr_comment", "pr_review", "pr_review_comment", "review_feedback")


def test_the_permissions_rise() -> None:
    assert PERMISSIONS == ("none", "read", "triage", "write", "maintain", "admin")


def test_only_speech_and_controls_may_be_a_command_and_no_notice_is_speech() -> None:
    assert all(kind.speech or kind.control or not kind.commands for kind in kinds.KINDS.values())
    assert not any(kind.notice and kind.speech for kind in kinds.KINDS.values())


@pytest.mark.parametrize(
    ("name", "by_person", "speech"),
    [
        ("mr_comment", False, True),
        ("discussion-comment", False, True),
        ("review.note", False, True),
        ("pr_description", False, True),
        ("commented", False, False),
        ("build_log", False, False),
        ("build_log", True, True),
        ("check_failed", True, False),
        ("", False, False),
    ],
)
def test_a_type_of_another_source_is_speech_by_its_name_or_its_author(
    name: str, *, by_person: bool, speech: bool
) -> None:
    found = kinds.kind(name, by_person=by_person)

    assert (found.speech, found.commands, found.threaded, found.notice) == (speech, speech, False, False)


def test_each_hook_point_has_its_name_in_the_list_of_names() -> None:
    assert get_args(HookName) == tuple(HOOKS)
