from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import a_deferral, an_open_event
from values import an_event

from prloom.core.commands import comment_commands
from prloom.core.commands.comment_commands import BUILT_IN, SlashCommand
from prloom.core.events import admission
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text.reader_words import WAY_ON
from prloom.model.event import Author, Event
from prloom.model.record import Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import Block, TodoWork

Make = Callable[..., OpenEvent]

TIME = Timestamp(2026, 11, 21, 12, tzinfo=UTC)


# ---- what is a command


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/prloom status", SlashCommand("prloom", ("status",))),
        ("  \n   /prloom   retry  now \r\nplease", SlashCommand("prloom", ("retry", "now"))),
        ("/prloom", SlashCommand("prloom", ())),
        ("/note keep this\nand this", SlashCommand("note", ("keep", "this"))),
        ("/etc/passwd is world-readable", SlashCommand("etc/passwd", ("is", "world-readable"))),
        ("/prloom's docs are wrong", SlashCommand("prloom's", ("docs", "are", "wrong"))),
        ("please /prloom status", None),
        ("> /prloom status", None),
        ("`/prloom status`", None),
        ("/", None),
        ("/ prloom status", None),
        ("", None),
        ("   ", None),
    ],
)
def test_a_command_is_a_first_word_with_a_slash(body: str, command: SlashCommand | None) -> None:
    assert comment_commands.parse(an_event(body=body)) == command


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ("   /prloom pause", True),
        ("    \n\t\n  /prloom pause", True),
        ("    /prloom pause", False),
        ("\n\n     /prloom pause", False),
        ("\r\n    /prloom pause", False),
        (" \r    /prloom pause", False),
        ("  \r  /prloom pause", True),
        ("    /prloom pause\nnow", False),
        ("\n/prloom pause\n\n    x = 1", True),
        ("\t/prloom pause", False),
        ("  \t/prloom pause", False),
    ],
)
def test_what_is_indented_as_code_is_no_command(body: str, *, is_one: bool) -> None:
    assert (comment_commands.parse(an_event(body=body)) is not None) is is_one


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        ("pr_comment", True),
        ("pr_review", True),
        ("pr_review_comment", True),
        ("review_feedback", True),
        ("check_failed", False),
        ("merge_conflict", False),
        ("pr_closed", False),
        ("pr_merged", False),
        ("comment_deleted", False),
        ("mr_comment", True),
        ("discussion_comment", True),
        ("ticket", True),
    ],
)
def test_only_what_somebody_says_can_be_a_command(kind: str, *, is_one: bool) -> None:
    assert (comment_commands.parse(an_event(type=kind, body="/prloom status")) is not None) is is_one


@pytest.mark.parametrize("author", [None, Author("ci", bot=True)])
@pytest.mark.parametrize(
    ("kind", "is_one"),
    [("mr_comment", True), ("issue.note", True), ("pipeline_failed", False), ("log", False), ("check_failed", False)],
)
def test_what_a_person_has_not_signed_is_a_command_only_where_its_type_says_that_it_is_speech(
    kind: str, author: Author | None, *, is_one: bool
) -> None:
    assert (comment_commands.parse(an_event(type=kind, author=author, body="/prloom approve")) is not None) is is_one


@given(body=st.text() | st.text().map(lambda text: "/" + text))
def test_any_text_is_a_command_or_not_and_never_an_error(body: str) -> None:
    command = comment_commands.parse(an_event(body=body))

    assert command is None or (command.name and body.lstrip().startswith("/"))


@pytest.mark.parametrize(
    ("name", "words", "built_in"),
    [
        ("prloom", ("status",), "status"),
        ("prloom", ("Approve", "ann"), "approve"),
        ("PRloom", ("help",), "help"),
        ("prloom", (), "help"),
        ("prloom", ("frobnicate",), ""),
        ("note", ("status",), None),
    ],
)
def test_built_in_commands_are_told_from_plugins_and_from_mistakes(
    name: str, words: tuple[str, ...], built_in: str | None
) -> None:
    assert SlashCommand(name, words).built_in == built_in


# ---- whom an approval vouches for

EARLY, ASKED, LATE = "2026-11-21T11:59:59Z", "2026-11-21T12:00:00.500Z", "2026-11-21T12:00:01Z"


def held(event_id: str, written_at: str | None, *, offset: int = 0, **values: object) -> OpenEvent:
    usual = {"state": "held", "author": "mallory", "created_at": written_at, "written_at": written_at}
    return an_open_event(event_id, position=Position(1, offset), **{**usual, **values})


def approved(events: list[OpenEvent], *named: str, by: OpenEvent, command: Event) -> list[str]:
    return [event.id for event in comment_commands.held_before(command, [*events, by], named)]


@pytest.fixture
def by() -> OpenEvent:
    return an_open_event("approval", position=Position(1, 100), written_at=ASKED)


@pytest.fixture
def command() -> Event:
    return an_event("approval", body="/prloom approve", created_at=ASKED)


def test_a_bare_approval_vouches_for_all_that_stood_there_when_it_was_written(by: OpenEvent, command: Event) -> None:
    # GitHub's times have whole seconds, ours have milliseconds: compared as texts, ASKED would be before EARLY.
    events = [held("a", EARLY), held("b", LATE), held("c", EARLY)]

    assert approved(events, by=by, command=command) == ["a", "c"]


@pytest.mark.parametrize(
    ("written_at", "vouched"),
    [
        ("2026-11-21T12:00:00Z", True),
        ("2026-11-21T12:00:00.501Z", False),
        ("2026-11-21T14:00:00+02:00", True),
        ("2026-11-21T12:00:00+02:00", True),
        ("2026-11-21T12:00:00-02:00", False),
        ("2026-11-21", True),
        ("2026-11-22", False),
    ],
)
def test_times_are_compared_as_times_whatever_form_their_source_gives_them(
    by: OpenEvent, command: Event, written_at: str, *, vouched: bool
) -> None:
    assert bool(approved([held("a", written_at)], by=by, command=command)) is vouched


def test_an_approval_by_author_does_not_vouch_for_what_they_write_later(by: OpenEvent, command: Event) -> None:
    events = [
        held("a", EARLY),
        held("b", LATE),
        held("c", EARLY, author="eve"),
    ]

    assert approved(events, "@Mallory", by=by, command=command) == ["a"]


def test_an_approval_does_not_vouch_for_what_a_comment_became_after_it(by: OpenEvent, command: Event) -> None:
    edit = an_event("a2", created_at=EARLY, context={"supersedes": "a", "updatedAt": LATE})
    came_in = admission.intake(edit, Position(1, 50))
    edited = held("a2", came_in.written_at, created_at=came_in.created_at)

    assert approved([edited], by=by, command=command) == []
    assert approved([edited], "mallory", by=by, command=command) == []


def test_an_edit_that_does_not_say_when_it_was_made_is_vouched_for_by_its_id_only(
    by: OpenEvent, command: Event
) -> None:
    came_in = admission.intake(an_event("a2", created_at=EARLY, context={"supersedes": "a"}), Position(1, 50))
    edited = held("a2", came_in.written_at, created_at=came_in.created_at)

    assert approved([edited], by=by, command=command) == []
    assert approved([edited], "mallory", by=by, command=command) == []
    assert approved([edited], "a2", by=by, command=command) == ["a2"]


def test_an_id_names_one_text_whenever_it_was_written(by: OpenEvent, command: Event) -> None:
    events = [held("a", LATE, offset=500), held("b", EARLY)]

    assert approved(events, "a,", "nobody", by=by, command=command) == ["a"]


@pytest.mark.parametrize("asked_at", [None, "yesterday", ASKED])
@pytest.mark.parametrize("written_at", [None, "yesterday"])
def test_where_the_times_are_not_known_what_came_in_before_the_approval_is_vouched_for(
    by: OpenEvent, asked_at: str | None, written_at: str | None
) -> None:
    events = [held("a", written_at, offset=99), held("b", written_at, offset=101)]

    assert approved(events, by=by, command=an_event("approval", created_at=asked_at)) == ["a"]


def test_what_was_written_in_the_very_moment_of_the_approval_is_vouched_for_if_it_came_in_before(
    by: OpenEvent, command: Event
) -> None:
    events = [held("a", ASKED, offset=99), held("b", ASKED, offset=101)]

    assert approved(events, by=by, command=command) == ["a"]


def test_what_was_edited_in_the_very_moment_of_the_approval_is_not_vouched_for(by: OpenEvent, command: Event) -> None:
    events = [held("a", ASKED, offset=99, created_at=EARLY)]

    assert approved(events, by=by, command=command) == []


def test_an_approval_whose_own_place_is_not_known_vouches_by_times_only(command: Event) -> None:
    events = [held("a", None), held("b", EARLY)]

    assert [event.id for event in comment_commands.held_before(command, events, ())] == ["b"]


@pytest.mark.parametrize("state", ["pending", "deferred", "parked"])
def test_only_what_is_held_is_vouched_for(by: OpenEvent, command: Event, state: str) -> None:
    assert approved([held("a", EARLY, state=state)], by=by, command=command) == []


def test_a_stranger_whose_comment_was_vouched_for_cannot_vouch_for_others(command: Event) -> None:
    by = an_open_event("approval", position=Position(1, 100), vouched=True)
    events = [held("a", EARLY)]

    assert approved(events, by=by, command=command) == []
    assert approved(events, "a", by=by, command=command) == []


# ---- what the commands answer


def test_help_names_every_built_in_command_and_the_plugins_own() -> None:
    text = comment_commands.help_text({"note": " keep\n  it ", "bare": ""})

    assert all(f"- `/prloom {name}`: " in text for name in BUILT_IN)
    assert "- `/bare`\n- `/note`: keep it" in text


def state_of(*events: OpenEvent, done: Mapping[str, int] | None = None, paused: bool = False) -> DispatchState:
    return DispatchState(open={event.id: event for event in events}, done=done or {}, paused=paused)


def test_status_of_nothing_says_so() -> None:
    assert comment_commands.status_text(DispatchState()) == "Nothing is open, and nothing waits."


def test_status_names_every_wait_with_its_reason_and_its_end() -> None:
    state = state_of(
        an_open_event("p"),
        an_open_event("d", state="deferred", deferral=a_deferral()),
        an_open_event("h", state="held", reason="mallory has read permission"),
        an_open_event("k", state="parked", reason="triage failed", deferral=a_deferral()),
        an_open_event("w", state="deferred"),
        done={"triaged": 2, "handled": 3},
    )

    assert comment_commands.status_text(state).splitlines() == [
        "- 1 comment is being read",
        "- the comment waits: somebody is still writing; next try 2026-11-21 12:00 UTC",
        "- the comment waits: no reason was given; it is tried again",
        "- the comment waits: mallory has read permission; `/prloom approve` lets it in",
        "- the comment waits: triage failed; `/prloom retry` tries it again",
    ]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://forge.example/7#c-1", "[the comment of `ann`](https://forge.example/7#c-1)"),
        ("https://forge.example/)![](x", "the comment of `ann`"),
        (None, "the comment of `ann`"),
    ],
)
def test_status_links_to_what_waits(url: str | None, name: str) -> None:
    state = state_of(an_open_event("h", state="held", reason="who?", author="ann"))

    text = comment_commands.status_text(state, text_of=lambda opened: an_event(opened.id, url=url))

    assert text == f"- {name} waits: who?; `/prloom approve` lets it in"


def test_status_tells_how_far_the_todos_are_what_blocks_them_and_which_waits_to_be_allowed() -> None:
    todos = [
        TodoItem("t-1", "Make it fast", "done"),
        TodoItem("t-2", "Make it blue", "dropped"),
        TodoItem("t-3", "Make it small"),
        TodoItem("t-4", "Make it\n# nice"),
    ]
    block = Block(reason="no\nway", since=TIME, way_on="prloom todo p open t-3")
    work = TodoWork(id="t-3", title="Make it small", attempt=2, started_at=TIME, retry_at=TIME, waits_for="a limit")
    state = DispatchState(block=block, work=work, proposed="t-4")

    at = "2026-11-21 12:00 UTC"
    assert comment_commands.status_text(state, todos).splitlines() == [
        "- 1 of 3 TODOs are done",
        f"- blocked since {at}: no way. {WAY_ON}",
        f"- in progress: Make it small, attempt 2; waits: a limit; next try {at}",
        "- waits for `/prloom go`: Make it # nice",
    ]
    just_taken = DispatchState(work=TodoWork(id="t-3", title="Make it small"), proposed="t-1")
    assert comment_commands.status_text(just_taken, todos).splitlines()[1:] == ["- in progress: Make it small"]


def test_status_says_that_the_plan_is_paused() -> None:
    assert comment_commands.status_text(state_of(paused=True)) == "Paused: `/prloom resume` resumes work."


def test_a_reason_cannot_leave_its_line() -> None:
    state = state_of(an_open_event("k`\n# x", state="parked", reason="a\n\n# Approved\x1b[2J <!-- prloom:action -->"))

    lines = comment_commands.status_text(state).splitlines()

    assert len(lines) == 1
    assert "\x1b" not in lines[0]
    assert "<!--" not in lines[0]


def test_a_long_list_of_waits_is_cut_so_that_the_answer_can_be_posted() -> None:
    events = [an_open_event(f"e{number}", state="held", reason="x" * 1000) for number in range(500)]

    text = comment_commands.status_text(state_of(*events))

    assert len(text) < 30_000
    assert text.endswith("- and 480 comments more that wait for an approval")
    assert "more that wait" not in comment_commands.status_text(state_of(*events[:20]))


@pytest.mark.parametrize(("length", "shown"), [(300, "x" * 300), (301, "x" * 299 + "…")])
def test_a_long_reason_is_cut(length: int, shown: str) -> None:
    text = comment_commands.status_text(state_of(an_open_event("k", state="parked", reason="x" * length)))

    assert text == f"- the comment waits: {shown}; `/prloom retry` tries it again"
