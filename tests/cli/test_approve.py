from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from command_line import Prloom, Refusal
from stage import Stage, said

from prloom.agents.run_ancestry import RUN_VARIABLE
from prloom.api import Author, Refused, Target
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

EVE = Author("eve", "none")
KEY = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
SECRET = "correct-horse-battery"
EVIL = "\x1b[2J\u202e\nApproved: everything."


@pytest.fixture
async def held(stage: Stage) -> Stage:
    """A held event."""
    stage.adopt()
    await stage.take_in(said("h", "Let me in.\nPlease.", title="Hello", author=EVE), said("t"))
    return stage


async def test_the_text_is_shown_and_the_event_let_in(held: Stage, prloom: Prloom) -> None:
    ran = prloom("approve", "h")

    assert (ran.code, ran.out) == (
        0,
        "h  pr_comment by eve, plan pr-7\n  Hello\n  │ Let me in.\n  │ Please.\nApproved: h.\n",
    )
    assert held.open()["h"]["state"] == "pending"
    await held.tick()
    assert held.triager.batches[-1] == ("h",)


async def test_an_agents_run_approves_nothing(held: Stage, refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "run-1")

    assert refused("approve", "h").startswith(
        "prloom: prloom approve was started by run run-1; only a person may decide this"
    )
    assert held.open()["h"]["state"] == "held"


async def test_the_vouch_is_for_the_text_that_was_shown(held: Stage, prloom: Prloom) -> None:
    with SafeDir.make(held.root, "prloom", ".local") as local, DispatcherLock(local):
        prloom("approve", "h")

    (line,) = (held.root / "prloom/.local/control.jsonl").read_text().splitlines()
    assert json.loads(line)["data"]["context"]["digests"] == {"h": held.open()["h"]["digest"]}


async def test_a_text_that_is_not_the_one_that_came_in_cannot_be_vouched_for(held: Stage, refused: Refusal) -> None:
    journal = held.local() / "bus/events.jsonl"
    journal.write_text(journal.read_text().replace("Let me in", "Get me in"))

    assert refused("approve", "h").startswith("prloom: the text of h in events.jsonl is not the text that came in")
    assert held.open()["h"]["state"] == "held"


async def test_only_held_events_can_be_vouched_for_and_all_or_none_are(held: Stage, prloom: Prloom) -> None:
    held.append(said("fresh", author=EVE))

    assert prloom("approve", "h", "fresh").err == (
        "prloom: prloom has not taken in fresh yet; run `prloom start`, then approve it\n"
    )
    assert prloom("approve", "t").err == "prloom: t is already done; `prloom why` shows how it ended\n"
    assert prloom("approve", "hh").err == ("prloom: no event, reply, action or TODO hh; did you mean h?\n")
    assert prloom("approve", "EVE").err == (
        "prloom: no event, reply, action or TODO EVE; did you mean @EVE, the events by EVE?\n"
    )
    assert held.open()["h"]["state"] == "held"


async def test_the_text_cannot_pass_for_prlooms_words(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    await stage.take_in(said("h", EVIL, title=EVIL, author=Author(EVIL, "none")))

    text = prloom("approve", "h").out

    assert not set(text) & {"\x1b", "\u202e"}
    assert [line for line in text.splitlines() if line.startswith("Approved")] == ["Approved: h."]


@pytest.fixture
async def withheld(stage: Stage) -> str:
    """The id of an action that is withheld."""
    stage.adopt()
    reply = f"Here:\n{KEY}\x1b[2J and {SECRET}"
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": e.id, "verdict": "answered", "reply": reply} for e in batch],
        "todos": [],
    }
    await stage.take_in(said("a", reply_to=Target("forge", {"thread": "a"})))
    (action,) = stage.state()["queue"]
    return str(action)


async def test_a_withheld_action_is_shown_without_its_secrets_and_not_sent(
    stage: Stage, withheld: str, prloom: Prloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", SECRET)

    ran = prloom("approve", withheld)

    assert (ran.code, ran.out) == (
        1,
        f"{withheld}  comment to forge, plan pr-7\n  │ Here:\n  │ [secret]\\x1b[2J and [secret]\n",
    )
    assert ran.err == (
        f"prloom: {withheld}: nothing was sent; if everything in it may be public, "
        f"run `prloom approve --release {withheld}`\n"
    )
    await stage.tick()
    assert stage.bridge.posts == []


async def test_status_says_that_somebody_has_to_look_at_what_is_withheld_not_to_try_again(
    stage: Stage, withheld: str, prloom: Prloom
) -> None:
    text = prloom("status", "--all").out
    (failed,) = json.loads(prloom("status", "--json").out)["plans"][-1]["actions"]["failed"]

    assert f"to read it, run `prloom approve {withheld}`" in text
    assert f"prloom retry {withheld}" not in text
    assert (failed["id"], failed["withheld"]) == (withheld, True)


async def test_a_withheld_action_is_released_when_that_is_said(stage: Stage, withheld: str, prloom: Prloom) -> None:
    ran = prloom("approve", "--release", withheld)

    assert ran.code == 0
    assert ran.out.endswith(f"Released: {withheld}.\n")
    await stage.tick()
    assert len(stage.bridge.posts) == 1
    assert KEY in stage.bridge.posts[0]


async def test_an_agents_run_releases_nothing(
    stage: Stage, withheld: str, refused: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "run-1")

    assert refused("approve", "--release", withheld).startswith(
        "prloom: prloom approve was started by run run-1; only a person may decide this"
    )
    await stage.tick()
    assert stage.bridge.posts == []


async def test_no_command_repeats_what_is_withheld(stage: Stage, withheld: str, prloom: Prloom) -> None:
    for args in (["status"], ["why", "a"], ["why", withheld], ["events"], ["doctor"], ["retry", withheld]):
        for form in ([], ["--json"] if args[0] in {"status", "why", "events"} else []):
            ran = prloom("-v", *args, *form)
            assert KEY not in ran.out + ran.err
            assert args[0] not in {"status", "why"} or "withheld because it contains a GitHub token" in ran.out


async def test_the_name_of_an_event_that_is_done_means_its_withheld_actions(
    stage: Stage, withheld: str, prloom: Prloom
) -> None:
    assert prloom("approve", "--release", "a").out.endswith(f"Released: {withheld}.\n")


async def test_an_action_that_failed_for_another_reason_is_nothing_to_release(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.bridge.refuse = lambda action: Refused("locked")
    await stage.take_in(said("a"))
    (action,) = stage.state()["queue"]

    assert prloom("approve", "--release", action).err == (
        f"prloom: {action} is failed, not held; there is nothing to approve\n"
    )


# All that an author has said.


@pytest.fixture
async def carls(stage: Stage) -> Stage:
    """Two held events by carl, in two plans, and one by eve."""
    stage.adopt()
    stage.adopt("other", pr=8)
    carl = Author("Carl", "none")
    stage.append(said("c1", "One.", author=carl), said("e", author=EVE))
    await stage.take_in(said("c2", "Two.", author=carl, pr=8), plan_id="other")
    return stage


def test_an_author_with_one_held_event_needs_no_question(carls: Stage, prloom: Prloom) -> None:
    ran = prloom("approve", "@eve")

    assert ran.code == 0
    assert ran.out.endswith("Approved: e.\n")


def test_an_author_with_several_held_events_needs_yes_where_nobody_can_be_asked(carls: Stage, prloom: Prloom) -> None:
    ran = prloom("approve", "@carl")

    assert ran.code == 1
    assert ran.err == (
        "prloom: 2 events match, and nothing was approved; to approve all of them, run `prloom approve @carl --yes`\n"
    )
    assert "│ One." in ran.out
    assert "│ Two." in ran.out
    assert carls.open()["c1"]["state"] == "held"

    assert prloom("approve", "@carl", "--yes").out.endswith("Approved: c2, c1.\n")
    assert carls.open()["c1"]["state"] == carls.open("other")["c2"]["state"] == "pending"


@pytest.mark.parametrize(("answer", "state"), [("y", "pending"), ("n", "held")])
def test_on_a_terminal_the_question_comes_first(
    carls: Stage, on_terminal: Callable[..., list[str]], answer: str, state: str
) -> None:
    lines = on_terminal(100, "approve", "@carl", answers=answer + "\n")

    assert "Approve these 2 events? [y/N]: " in "".join(lines)
    assert carls.open()["c1"]["state"] == carls.open("other")["c2"]["state"] == state


def test_a_plan_bounds_what_is_approved(carls: Stage, prloom: Prloom) -> None:
    assert prloom("approve", "@carl", "--plan", "other").out.endswith("Approved: c2.\n")
    assert carls.open()["c1"]["state"] == "held"


def test_an_author_without_a_held_event_is_one_line(carls: Stage, prloom: Prloom) -> None:
    assert prloom("approve", "@dan").err == (
        "prloom: no event by dan is held; `prloom events --state held` lists those that are\n"
    )
