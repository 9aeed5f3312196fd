"""The rights that the documentation asks for are enough, and none of them is asked for in vain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_github import NONE

from prloom.api import (
    AddLabels,
    AssignUsers,
    ClosePr,
    Comment,
    Delivered,
    InlineComment,
    Merge,
    React,
    RemoveLabels,
    RequestReviewers,
    Review,
    SetMilestone,
)

PAGE = Path(__file__).parents[3] / "docs" / "github.md"
NAMES = {"Commit statuses": "statuses"}
ACTIONS = (
    Comment("Done."),
    InlineComment("src/engine.py", 3, "Here."),
    Review("comment", "My view."),
    React("eyes"),
    AddLabels(("bug",)),
    RemoveLabels(("bug",)),
    AssignUsers(("ann",)),
    RequestReviewers(("eve",)),
    SetMilestone("1.0"),
    Merge(),
    ClosePr(),
)


def documented() -> Mapping[str, str]:
    """Return the rights of the table, as GitHub's API names and grades them."""
    rows = re.findall(r"^\| ([A-Z][a-z ]+): (read and write|read) \|", PAGE.read_text(), re.MULTILINE)
    return {NAMES.get(name, name.lower().replace(" ", "_")): "write" if "write" in how else how for name, how in rows}


async def works(new_runtime: Callable[..., Any], rights: Mapping[str, str]) -> tuple[set[str], set[type]]:
    """Return the types of the events that are heard with these rights, and of the payloads that can be carried out."""
    runtime = new_runtime(rules=NONE, private=True)
    runtime.hub.person("ann", "write")
    runtime.hub.person("eve", "read")
    runtime.hub.milestone("1.0")
    runtime.token = runtime.hub.token("ada", permissions=rights)
    runtime.client = runtime.connect()
    pull = runtime.hub.pull()
    runtime.track(pull)
    await runtime.poll()
    runtime.hub.push(pull)
    for post in (runtime.hub.comment, runtime.hub.inline):
        post(pull, "ann", "Why?")
    runtime.hub.review(pull, "ann", "APPROVED")
    runtime.hub.check(pull, "tests", "failure", log="of the job")
    runtime.hub.check(pull, "deploy", "failure", app="circleci", log="of the app")
    runtime.hub.status(pull, "ci", "failure", "of the status")
    heard = [event for _ in range(4) for event in await runtime.poll()]
    done = {
        type(payload)
        for ordinal, payload in enumerate(ACTIONS)
        if isinstance(await runtime.act(heard[0].reply_to, payload, ordinal=ordinal), Delivered)
    }
    failed = {event.body for event in heard if event.type == "check_failed"}
    return {event.type for event in heard} - {"check_failed"} | failed, done


ALL_HEARD = {"pr_pushed", "pr_comment", "pr_review_comment", "pr_review", "of the job", "of the app", "of the status"}
ALL_DONE = set(map(type, ACTIONS))


async def test_the_rights_of_the_table_are_enough(new_runtime: Callable[..., Any]) -> None:
    heard, done = await works(new_runtime, documented())

    assert (heard, done) == (ALL_HEARD, ALL_DONE)


@pytest.mark.parametrize(
    ("without", "unheard", "undone"),
    [
        ("checks", {"of the app"}, set()),
        ("statuses", {"of the status"}, set()),
        ("contents", set(), {Merge}),
    ],
)
async def test_without_one_of_them_just_that_is_missing_which_the_table_says(
    new_runtime: Callable[..., Any], without: str, unheard: set[str], undone: set[type]
) -> None:
    rights = {name: grade for name, grade in documented().items() if name != without}

    heard, done = await works(new_runtime, rights)

    assert (ALL_HEARD - heard, ALL_DONE - done) == (unheard, undone)


async def test_without_access_to_actions_a_failure_is_reported_without_its_log(new_runtime: Callable[..., Any]) -> None:
    heard, done = await works(new_runtime, {name: grade for name, grade in documented().items() if name != "actions"})

    assert [body[:28] for body in heard - ALL_HEARD] == ["(the log cannot be read: GET"]
    assert (ALL_HEARD - heard, done) == ({"of the job"}, ALL_DONE)


async def test_the_least_that_does_anything_is_to_write_to_pull_requests(new_runtime: Callable[..., Any]) -> None:
    heard, done = await works(new_runtime, {"metadata": "read", "pull_requests": "write"})

    assert heard == {"pr_pushed", "pr_comment", "pr_review_comment", "pr_review"}
    assert done == ALL_DONE - {Merge}


async def test_without_that_it_says_what_is_missing(new_runtime: Callable[..., Any]) -> None:
    rights = {name: grade for name, grade in documented().items() if name != "pull_requests"}

    with pytest.raises(Exception, match="the token may not read the pull requests of ada/engine: ") as raised:
        await works(new_runtime, rights)
    assert str(raised.value) == (
        "the token may not read the pull requests of ada/engine: Resource not accessible by personal access token; "
        "docs/github.md names the rights that it needs (GET /repos/ada/engine/pulls: 403)"
    )
