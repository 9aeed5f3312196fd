from __future__ import annotations

import pytest
from msgspec.structs import replace

from prloom.core import trust
from prloom.core.commands import comment_commands
from prloom.core.delivery.outbox import marker
from prloom.core.events import admission
from prloom.core.events.admission import OwnPosts
from prloom.core.plugins import plugin_message
from prloom.core.trust import Policy, Trusted
from prloom.model.event import Author, Event


def a_message(content: str = "hello", depth: int = 1) -> Event:
    return plugin_message.event("ci", "pr-7", "m-1", content, depth=depth, created_at="2026-01-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("message_id", "role", "content", "problem"),
    [
        ("", "user", "x", "message_id: it has 0 characters; use 1 to 256"),
        ("m" * 257, "user", "x", "message_id: it has 257 characters; use 1 to 256"),
        ("m", "system", "x", 'role: "system" is refused: no plugin writes instructions; use "user" or "assistant"'),
        ("m", "tool", "x", 'role: \'tool\' is not a role of a message; use "user" or "assistant"'),
        ("m", "user", " \n", "content: it is empty"),
        ("m", "user", "é" * 8192 + "x", "content: it has 16385 bytes of UTF-8; at most 16384 are accepted"),
        ("m", "assistant", "é" * 8192, None),
        ("m" * 256, "user", "x", None),
    ],
)
def test_a_message_that_cannot_be_accepted_says_which_param_is_wrong(
    message_id: str, role: str, content: str, problem: str | None
):
    assert plugin_message.problem(message_id, role, content) == problem


def test_the_ids_depend_on_plugin_plan_and_message_and_on_nothing_else():
    assert a_message("one").id == a_message("two", 3).id
    assert len({plugin_message.event_id(p, w, m) for p in "ab" for w in "ab" for m in "ab"}) == 8
    assert len({plugin_message.action_id(p, w, m) for p in "ab" for w in "ab" for m in "ab"}) == 8


def test_the_ids_of_a_message_are_the_same_in_every_version_also_where_its_own_id_is_no_utf_8():
    assert plugin_message.event_id("ci", "pr-7", "m\ud800") == "plugin.ci:031f801cf58df5888045c95e"
    assert plugin_message.action_id("ci", "pr-7", "m\ud800") == "a-9151cb08068ac070a435"


def test_a_message_speaks_for_the_plugin_is_trusted_and_is_no_command_and_no_answer_of_a_person():
    event = a_message("/prloom approve", 2)

    assert event == Event(
        id=plugin_message.event_id("ci", "pr-7", "m-1"),
        source="plugin.ci",
        type="plugin_message",
        title="Message of plugin ci",
        body="/prloom approve",
        author=Author("plugin.ci", "operator"),
        context={"plugin": "ci", "messageId": "m-1", "depth": 2},
        created_at="2026-01-01T00:00:00.000Z",
    )
    assert plugin_message.depth(event) == 2
    assert isinstance(trust.judge(event, Policy(minimum="admin")), Trusted)
    assert comment_commands.parse(event) is None
    assert not event.spoken
    assert not event.notice


def test_a_message_that_quotes_a_post_of_prlooms_own_is_not_taken_for_it():
    action = "a-" + "0" * 20
    own = OwnPosts({}, frozenset(), lambda _: True)
    quoting = a_message(f"They said:\n{marker(action)}\nhello")

    assert not admission.is_own_post(quoting, own)
    assert admission.is_own_post(replace(quoting, type="pr_comment"), own)


@pytest.mark.parametrize(("given", "depth"), [(2, 2), (0, 1), (99, 3), ("x", 1), (True, 1)])
def test_the_depth_of_a_message_is_read_back_whatever_its_line_says(given: object, depth: int):
    assert plugin_message.depth(replace(a_message(), context={"depth": given})) == depth


def test_events_of_others_have_no_depth():
    assert plugin_message.depth(replace(a_message(), type="pr_comment")) == 0
    assert plugin_message.depth(replace(a_message(), source="forge")) == 0
