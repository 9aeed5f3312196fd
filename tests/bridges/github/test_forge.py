"""Pull requests are opened once, described without loss, found again, listed for nothing; issues are read."""

from __future__ import annotations

from typing import Any

import pytest
from fake_github import BAD_GATEWAY, answer

from prloom.api import Issue, marker

MARKER = marker("a-" + "0" * 20)


async def test_a_pull_request_is_opened_once_described_and_marked_ready(runtime: Any) -> None:
    runtime.hub.branch("topic")
    wanted = {"branch": "topic", "base": "main", "title": "A topic", "body": "Why.", "draft": True}

    first, second = [await runtime.bridge.open_pull_request(runtime.context(), **wanted) for _ in range(2)]
    await runtime.bridge.describe_pull_request(runtime.context(), first.number, title="New", body="Because.")
    for _ in range(2):
        await runtime.bridge.mark_ready(runtime.context(), first.number)
    now = await runtime.bridge.pull_request(runtime.context(), first.number)

    assert first == second
    assert (first.title, first.draft, first.branch, first.base, first.state) == (
        "A topic",
        True,
        "topic",
        "main",
        "open",
    )
    assert (now.title, now.body, now.draft, now.ref, now.fork) == ("New", "Because.", False, "refs/pull/1/head", False)


async def test_p3_a_pull_request_whose_opening_was_not_answered_is_found(runtime: Any) -> None:
    runtime.hub.branch("topic")
    runtime.hub.after_next(BAD_GATEWAY, on="POST *")

    opened = await runtime.bridge.open_pull_request(
        runtime.context(), branch="topic", base="main", title="A topic", body="", draft=False
    )

    assert (opened.number, len(runtime.hub.world.pulls())) == (1, 1)


async def test_a_branch_that_is_not_there_is_refused_in_githubs_words(runtime: Any) -> None:
    with pytest.raises(
        Exception, match="GitHub did not open a pull request for 'topic': Validation Failed head invalid"
    ):
        await runtime.bridge.open_pull_request(
            runtime.context(), branch="topic", base="main", title="A topic", body="", draft=False
        )


@pytest.mark.parametrize("deleted", [True, False])
async def test_a_pull_request_from_a_fork_is_known_as_one_even_if_the_fork_is_gone(
    runtime: Any, *, deleted: bool
) -> None:
    pull = runtime.hub.pull(by="eve", fork=True, title="A gift")
    if deleted:
        runtime.hub.delete_fork(pull)

    read = await runtime.bridge.pull_request(runtime.context(), pull.number)

    assert (read.fork, read.ref, read.head, read.title) == (True, "refs/pull/1/head", pull.head.sha, "A gift")


async def test_a_token_that_is_no_good_is_said_clearly_where_a_pull_request_is_asked_for_too(runtime: Any) -> None:
    runtime.hub.revoke(runtime.token)

    with pytest.raises(Exception, match=r"^GitHub does not accept the token \(401\); write another"):
        await runtime.bridge.pull_request(runtime.context(), 1)


async def test_a_404_for_one_where_the_repository_cannot_be_seen_is_no_answer(runtime: Any) -> None:
    runtime.hub.before_next(answer(404, "Not Found"), times=2)

    with pytest.raises(Exception, match="GitHub shows no repository ada/engine to this token; fix `repo`, or"):
        await runtime.bridge.pull_request(runtime.context(), 1)


@pytest.mark.parametrize(("status", "words"), [(404, "Not Found"), (403, "Resource not accessible")])
async def test_a_server_that_refuses_graphql_is_told_from_one_that_shows_no_repository(
    runtime: Any, status: int, words: str
) -> None:
    pull = runtime.hub.pull()
    runtime.hub.before_next(answer(status, words), on="POST /graphql")

    with pytest.raises(Exception, match="GraphQL") as raised:
        await runtime.bridge.pull_request(runtime.context(), pull.number)

    assert str(raised.value) == (
        f"GitHub did not say who edited #1 last: GraphQL is refused at {runtime.hub.api_url}/graphql "
        f"({status}: {words}); prloom needs it"
    )


async def test_one_that_is_not_there_is_none_and_one_that_cannot_be_asked_for_is_not(runtime: Any) -> None:
    assert await runtime.bridge.pull_request(runtime.context(), 99) is None
    runtime.hub.before_next(BAD_GATEWAY)
    with pytest.raises(Exception, match="502"):
        await runtime.bridge.pull_request(runtime.context(), 99)


# ---- found again


async def open_topic(runtime: Any, **other: Any) -> Any:
    wanted = {"branch": "topic", "base": "main", "title": "A topic", "body": "Why.", "draft": True}
    return await runtime.bridge.open_pull_request(runtime.context(), **{**wanted, **other})


async def find(runtime: Any, branch: str = "topic") -> Any:
    return await runtime.bridge.find_pull_request(runtime.context(), branch)


async def test_a_branch_without_a_pull_request_has_none(runtime: Any) -> None:
    runtime.hub.pull(branch="another")

    assert await find(runtime) is None


async def test_an_open_pull_request_of_the_branch_is_found_before_a_later_one_that_is_over(runtime: Any) -> None:
    hub = runtime.hub
    hub.pull(branch="topic", base="main", title="The open one")
    hub.close(hub.pull(branch="topic", base="main", title="The later one"))

    assert (await find(runtime)).title == "The open one"


async def test_of_those_that_are_over_the_latest_is_found(runtime: Any) -> None:
    hub = runtime.hub
    hub.close(hub.pull(branch="topic"))
    hub.merge(hub.pull(branch="topic", title="The second"))
    found = await find(runtime)

    assert (found.title, found.state) == ("The second", "merged")


async def test_a_branch_of_that_name_in_a_fork_is_another_branch(runtime: Any) -> None:
    runtime.hub.pull(branch="topic", by="eve", fork=True)
    runtime.hub.delete_fork(runtime.hub.pull(branch="topic", by="ada", fork="ada"))

    assert await find(runtime) is None


async def test_a_pull_request_whose_base_a_person_changed_is_not_opened_again(runtime: Any) -> None:
    runtime.hub.branch("topic")
    runtime.hub.branch("next")
    first = await open_topic(runtime)
    runtime.hub.world.pulls()[0].base.ref = "next"
    again = await open_topic(runtime)

    assert (again.number, again.base) == (first.number, "next")


async def test_labels_and_the_last_editor_are_read(runtime: Any) -> None:
    pull = runtime.hub.pull(by="ann", body="Why.")
    runtime.hub.label(pull, "prloom", "urgent")
    before = await runtime.bridge.pull_request(runtime.context(), pull.number)
    runtime.hub.edit(pull, "Because.", by="eve")
    after = await runtime.bridge.pull_request(runtime.context(), pull.number)

    assert (before.labels, before.edited_by) == (("prloom", "urgent"), None)
    assert (after.body, after.edited_by, after.author) == ("Because.", "eve", "ann")


async def test_an_editor_that_is_a_bot_has_the_login_that_rest_gives_it(runtime: Any) -> None:
    runtime.hub.bot("helper[bot]")
    pull = runtime.hub.pull(body="Why.")
    runtime.hub.edit(pull, "Because.", by="helper[bot]")
    found = await runtime.bridge.pull_request(runtime.context(), pull.number)

    assert found.edited_by == "helper[bot]"


# ---- described


async def test_a_description_that_is_another_by_now_is_returned_and_not_overwritten(runtime: Any) -> None:
    pull = runtime.hub.pull(body="Why.")
    runtime.hub.edit(pull, "Why, by ann.", by="ann")
    found = await runtime.bridge.describe_pull_request(
        runtime.context(), pull.number, body="New", title="New", expected="Why."
    )

    assert (found, pull.body, pull.title) == ("Why, by ann.", "Why, by ann.", "Make the engine run")


async def test_a_description_that_is_as_expected_is_replaced_and_the_title_stays(runtime: Any) -> None:
    pull = runtime.hub.pull(body="")
    found = await runtime.bridge.describe_pull_request(runtime.context(), pull.number, body="New", expected="")

    assert (found, pull.body, pull.title) == ("New", "New", "Make the engine run")


async def test_a_token_that_may_not_write_is_told_what_it_lacks(runtime: Any) -> None:
    pull = runtime.hub.pull(by="ann", draft=True)
    runtime.token = runtime.hub.token("eve")
    runtime.client = runtime.connect()
    ctx = runtime.context()

    with pytest.raises(Exception, match=r"^GitHub does not let the token describe #1: .*docs/github.md names the"):
        await runtime.bridge.describe_pull_request(ctx, pull.number, body="New")
    with pytest.raises(Exception, match=r"^GitHub did not mark #1 as ready: eve does not have.*docs/github.md"):
        await runtime.bridge.mark_ready(ctx, pull.number)


async def test_an_error_without_an_answer_does_not_claim_that_nothing_was_done(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.hub.after_next(BAD_GATEWAY, on="PATCH *", times=9)

    with pytest.raises(Exception, match=r"^it is not known whether GitHub did describe #1: PATCH .*502"):
        await runtime.bridge.describe_pull_request(runtime.context(), pull.number, body="New")


# ---- issues


async def test_an_issue_is_read(runtime: Any) -> None:
    issue = runtime.hub.issue("It does not run", by="eve", body="Since today.")

    found = await runtime.bridge.read_issue(runtime.context(), issue.number)

    url = "https://github.com/ada/engine/issues/1"
    assert found == Issue(1, "It does not run", "Since today.", "eve", url, "open")


async def test_a_pull_request_is_no_issue_and_a_number_that_is_free_is_none(runtime: Any) -> None:
    pull = runtime.hub.pull()

    assert await runtime.bridge.read_issue(runtime.context(), pull.number) is None
    assert await runtime.bridge.read_issue(runtime.context(), 99) is None


async def test_an_issue_that_cannot_be_read_is_an_error_and_not_none(runtime: Any) -> None:
    runtime.hub.before_next(answer(404, "Not Found"), times=2)

    with pytest.raises(Exception, match="GitHub shows no repository ada/engine to this token"):
        await runtime.bridge.read_issue(runtime.context(), 1)


# ---- the list of open ones


async def numbers(runtime: Any) -> list[int]:
    return [pull.number for pull in await runtime.bridge.open_pull_requests(runtime.context())]


async def test_all_open_pull_requests_are_listed_with_what_a_rule_asks_for(runtime: Any) -> None:
    hub = runtime.hub
    hub.close(hub.pull())
    hub.label(hub.pull(by="eve", fork=True, draft=True, base="main"), "prloom")
    (found,) = await runtime.bridge.open_pull_requests(runtime.context())

    assert (found.number, found.author, found.labels, found.base) == (2, "eve", ("prloom",), "main")
    assert (found.draft, found.fork) == (True, True)


async def test_a_list_in_which_nothing_changes_costs_nothing(runtime: Any) -> None:
    for _ in range(60):
        runtime.hub.pull()
    first = await numbers(runtime)
    charged = runtime.hub.charged
    again = [await numbers(runtime) for _ in range(5)]

    assert len(first) == 60
    assert again == [first] * 5
    assert runtime.hub.charged == charged


async def test_a_repository_without_pull_requests_costs_nothing_either(runtime: Any) -> None:
    assert await numbers(runtime) == []
    charged = runtime.hub.charged
    assert await numbers(runtime) == []

    assert runtime.hub.charged == charged


async def test_a_list_follows_what_is_opened_closed_merged_reopened_and_labelled(runtime: Any) -> None:
    hub = runtime.hub
    kept, closed, merged = hub.pull(), hub.pull(), hub.pull()
    await numbers(runtime)
    runtime.clock.advance(minutes=1)
    hub.close(closed)
    hub.merge(merged)
    hub.label(kept, "prloom")
    opened = hub.pull()
    runtime.requests()
    found = await runtime.bridge.open_pull_requests(runtime.context())

    assert [(pull.number, pull.labels) for pull in found] == [(kept.number, ("prloom",)), (opened.number, ())]
    assert len(runtime.requests()) == 1
    runtime.clock.advance(minutes=1)
    hub.reopen(closed)
    assert await numbers(runtime) == [kept.number, closed.number, opened.number]


async def test_changes_that_fill_more_than_a_page_are_followed_to_their_end(runtime: Any) -> None:
    pulls = [runtime.hub.pull() for _ in range(70)]
    await numbers(runtime)
    runtime.clock.advance(minutes=1)
    for pull in pulls:
        runtime.hub.close(pull)

    assert await numbers(runtime) == []


# ---- one comment that is kept up to date


async def upsert(runtime: Any, body: str, **more: Any) -> Any:
    return await runtime.bridge.upsert_comment(runtime.context(), 1, marker=MARKER, body=body, **more)


async def test_one_comment_is_posted_and_then_edited(runtime: Any) -> None:
    runtime.hub.pull()
    first = await upsert(runtime, "One")
    second = await upsert(runtime, "Two", remote_id=first.remote_id)
    third = await upsert(runtime, "Three")
    (comment,) = runtime.hub.posts("ada")

    assert first.remote_id == second.remote_id == third.remote_id == f"issuecomment-{comment.id}"
    assert (third.body, comment.body) == ("Three", f"{MARKER}\nThree")
    assert third.url.endswith(f"#issuecomment-{comment.id}")


async def test_a_comment_that_says_so_already_is_not_written(runtime: Any) -> None:
    runtime.hub.pull()
    first = await upsert(runtime, "One")
    runtime.requests()
    await upsert(runtime, "One", remote_id=first.remote_id)

    assert [each.split()[0] for each in runtime.requests()] == ["GET"]


async def test_a_comment_whose_posting_was_not_answered_is_found_and_edited(runtime: Any) -> None:
    runtime.hub.pull()
    runtime.hub.after_next(BAD_GATEWAY, on="POST *")
    with pytest.raises(Exception, match=r"^it is not known whether GitHub did post or edit prloom's comment on #1"):
        await upsert(runtime, "One")
    await upsert(runtime, "Two")

    assert [post.body for post in runtime.hub.posts("ada")] == [f"{MARKER}\nTwo"]


async def test_a_marker_that_another_person_copied_is_not_prlooms_comment(runtime: Any) -> None:
    runtime.hub.comment(runtime.hub.pull(), "eve", f"{MARKER}\nMine")
    await upsert(runtime, "One")

    assert [post.body for post in runtime.hub.posts("eve")] == [f"{MARKER}\nMine"]
    assert [post.body for post in runtime.hub.posts("ada")] == [f"{MARKER}\nOne"]


async def test_a_comment_that_a_person_deleted_is_posted_anew(runtime: Any) -> None:
    runtime.hub.pull()
    first = await upsert(runtime, "One")
    runtime.hub.delete(runtime.hub.posts("ada")[0])
    second = await upsert(runtime, "Two", remote_id=first.remote_id)

    assert (second.remote_id != first.remote_id, second.body) == (True, "Two")


async def test_a_comment_in_which_a_box_was_ticked_is_returned_and_not_overwritten(runtime: Any) -> None:
    runtime.hub.pull()
    first = await upsert(runtime, "- [ ] pause")
    (comment,) = runtime.hub.posts("ada")
    runtime.hub.edit(comment, f"{MARKER}\n- [x] pause", by="ann")
    found = await upsert(runtime, "- [ ] pause and more", remote_id=first.remote_id, expected="- [ ] pause")

    assert (found.body, comment.body) == ("- [x] pause", f"{MARKER}\n- [x] pause")


async def test_the_comment_is_no_event(runtime: Any) -> None:
    runtime.track(runtime.hub.pull())
    await runtime.poll()
    await upsert(runtime, "One")

    (event,) = await runtime.poll()
    assert event.own_account
    assert event.body.startswith(MARKER)


async def test_the_own_login_is_that_of_the_token(runtime: Any) -> None:
    assert await runtime.bridge.own_login(runtime.context()) == "ada"


async def test_an_apps_login_is_not_known(runtime: Any) -> None:
    runtime.token = runtime.hub.token("prloom[bot]", kind="app")
    runtime.client = runtime.connect()

    assert await runtime.bridge.own_login(runtime.context()) is None
