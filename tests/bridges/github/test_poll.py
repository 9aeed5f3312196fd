"""What happens on GitHub becomes events: each once, the oldest first, and nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, GARBAGE, NONE, TIMEOUT, TRUNCATED, FileDiff, answer, blocked, needs_sso

from prloom.api import Comment, Event, HttpError, React

NewRuntime = Callable[..., Any]


async def watched(runtime: Any, **more: Any) -> Any:
    """Return a pull request that has been looked at once, a while ago."""
    pull = runtime.hub.pull(**more)
    runtime.clock.advance(seconds=10)
    runtime.track(pull)
    await runtime.poll()
    return pull


@pytest.fixture(name="pull")
async def one_that_is_watched(runtime: Any) -> Any:
    """Return a pull request that has been looked at once."""
    return await watched(runtime)


def bodies(events: list[Event]) -> list[str]:
    return [event.body for event in events]


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]


# ---- what people write


async def test_a_comment_becomes_an_event_once(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "please rename it")

    first, second = await runtime.poll(), await runtime.poll()

    (event,) = first
    assert second == []
    assert (event.id, event.type, event.source, event.pr) == (
        f"github:issuecomment-{comment.id}",
        "pr_comment",
        "github",
        pull.number,
    )
    assert (event.author.login, event.author.bot, event.author.trust) == ("ann", False, None)
    assert event.context["remoteId"] == f"issuecomment-{comment.id}"
    assert event.url == f"https://github.com/ada/engine/pull/{pull.number}#issuecomment-{comment.id}"
    assert event.created_at == "2026-01-01T12:01:10Z"


async def test_a_plan_that_begins_anew_hears_everything_anew(runtime: Any) -> None:
    pull, other = await watched(runtime), await watched(runtime)
    runtime.hub.comment(pull, "ann", "one")
    before = await runtime.poll()
    runtime.tracked = [other.number]
    await runtime.poll()
    runtime.track(pull)

    assert bodies(await runtime.poll()) == bodies(before) == ["one"]


async def test_a_plan_that_was_given_up_and_made_anew_between_two_polls_hears_everything_anew(
    runtime: Any, pull: Any
) -> None:
    runtime.hub.comment(pull, "ann", "one")
    runtime.hub.review(pull, "ann", "COMMENTED", "two")
    before = await runtime.poll()
    assert await runtime.poll() == []
    runtime.adopted = "2026-01-01T12:03:00Z"

    after, again = await runtime.poll(), await runtime.poll()

    assert sorted(bodies(after)) == sorted(bodies(before)) == ["one", "two"]
    assert again == []


async def test_comments_on_issues_and_on_other_pull_requests_are_nobodys(runtime: Any) -> None:
    await watched(runtime)
    runtime.hub.comment(runtime.hub.issue(), "ann", "an issue")
    runtime.hub.comment(runtime.hub.pull(), "ann", "another")

    assert await runtime.poll() == []


async def test_a_comment_at_a_line_says_where_it_stands(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?", line=7)

    (event,) = await runtime.poll()

    wanted = {"thread": str(root.id), "file": "src/engine.py", "line": 7, "side": "RIGHT", "commit": pull.head.sha}
    assert {key: event.context[key] for key in wanted} == wanted
    assert event.context["diffHunk"].startswith("@@ -1,3 +1,40 @@")
    assert event.context["diffHunk"].endswith("+new line 7")
    assert "inReplyTo" not in event.context
    assert event.title == "ann commented on src/engine.py:7"


async def test_a_reply_in_a_thread_belongs_to_its_first_comment(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    runtime.hub.reply_in_thread(root, "eve", "because")

    events = await runtime.poll()

    assert bodies(events) == ["why?", "because"]
    assert [event.context["thread"] for event in events] == [str(root.id)] * 2
    assert events[1].reply_to.token["thread"] == root.id


async def test_a_line_that_is_no_longer_in_the_diff_is_null_and_no_error(runtime: Any, pull: Any) -> None:
    runtime.hub.inline(pull, "ann", "why?", line=30)
    runtime.hub.push(pull, files=[FileDiff(path="src/engine.py", new=(1, 5))])

    event = next(event for event in await runtime.poll() if event.type == "pr_review_comment")

    assert ("line" in event.context, event.context["originalLine"]) == (False, 30)


async def test_a_comment_on_a_whole_file_has_no_line(runtime: Any, pull: Any) -> None:
    runtime.hub.inline(pull, "ann", "delete it", line=None)

    (event,) = await runtime.poll()

    assert (event.context["file"], "line" in event.context) == ("src/engine.py", False)


@pytest.mark.parametrize("state", ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"])
async def test_a_review_with_words_is_an_event_whatever_its_state(runtime: Any, state: str, pull: Any) -> None:
    review = runtime.hub.review(pull, "ann", state, "my view", comments=[("src/engine.py", 3, "and here")])

    events = await runtime.poll()

    assert sorted(bodies(events)) == ["and here", "my view"]
    said = next(event for event in events if event.type == "pr_review")
    assert said.context["state"] == state.lower()
    assert said.context["remoteId"] == f"pullrequestreview-{review.id}"
    assert said.severity == ("warning" if state == "CHANGES_REQUESTED" else "info")


async def test_an_approval_without_words_is_an_event(runtime: Any, pull: Any) -> None:
    runtime.hub.review(pull, "ann", "APPROVED")

    assert [event.title for event in await runtime.poll()] == ["ann reviewed: approved"]


async def test_a_draft_is_heard_when_it_is_submitted_and_once(runtime: Any, pull: Any) -> None:
    draft = runtime.hub.review(pull, "ada", "PENDING", "my view", comments=[("src/engine.py", 3, "and here")])
    runtime.hub.review(pull, "ann", "COMMENTED", "meanwhile")
    before = await runtime.poll()
    runtime.hub.submit(draft)

    after, again = await runtime.poll(), await runtime.poll()

    assert (bodies(before), sorted(bodies(after)), again) == (["meanwhile"], ["and here", "my view"], [])


async def test_a_review_that_is_dismissed_is_no_event(runtime: Any, pull: Any) -> None:
    review = runtime.hub.review(pull, "ann", "APPROVED", "fine")
    await runtime.poll()
    runtime.hub.dismiss(review)

    assert await runtime.poll() == []


async def test_who_is_gone_is_a_ghost(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "zoe", "farewell")
    runtime.hub.forget("zoe")

    (event,) = await runtime.poll()

    assert event.author.login == "ghost"


async def test_a_login_that_ends_in_bot_proves_nothing(runtime: Any, pull: Any) -> None:
    runtime.hub.person("nice[bot]")
    runtime.hub.bot("coverage")
    runtime.hub.comment(pull, "nice[bot]", "one")
    runtime.hub.comment(pull, "coverage", "two")

    assert [event.author.bot for event in await runtime.poll()] == [False, True]


@pytest.mark.parametrize("hint", ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"])
async def test_what_github_hints_of_an_author_is_not_believed(runtime: Any, hint: str, pull: Any) -> None:
    """`author_association`: that of a private member may be CONTRIBUTOR, and that of a stranger MEMBER."""
    runtime.hub.person("mallory", "read", hint=hint)
    runtime.hub.comment(pull, "mallory", "obey me")
    runtime.hub.inline(pull, "mallory", "obey me")
    runtime.hub.review(pull, "mallory", "APPROVED", "obey me")

    assert [event.author.trust for event in await runtime.poll()] == [None] * 3
    assert await runtime.bridge.permission(runtime.context(), "mallory") == "read"


async def test_a_review_that_was_dismissed_before_is_heard_if_it_has_words(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.hub.dismiss(runtime.hub.review(pull, "ann", "CHANGES_REQUESTED", "tests are missing"))
    runtime.hub.dismiss(runtime.hub.review(pull, "eve", "APPROVED"))
    runtime.track(pull)

    assert [(event.context["state"], event.body) for event in await runtime.poll()] == [
        ("dismissed", "tests are missing")
    ]


async def test_a_comment_on_several_lines_says_where_it_begins(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?", line=7)
    root.start_line, root.start_side = 4, "LEFT"

    (event,) = await runtime.poll()

    assert (event.context["startLine"], event.context["startSide"], event.context["line"]) == (4, "LEFT", 7)


async def test_what_was_resolved_or_reacted_to_is_no_event(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    await runtime.poll()
    runtime.hub.resolve(root, "ann")
    runtime.hub.react(root, "eve")

    assert await runtime.poll() == []


async def test_a_new_title_or_description_is_no_event(runtime: Any, pull: Any) -> None:
    """As the documentation says: who adopts a pull request has vouched for what it said then."""
    pull.title, pull.body, pull.updated_at = "Obey me", "Obey me", runtime.hub.now

    assert [event for _ in range(6) for event in await runtime.poll()] == []


# ---- edits


async def test_a_persons_edit_supersedes_what_it_was(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "use tabs")
    (first,) = await runtime.poll()
    runtime.hub.edit(comment, "use spaces")
    (second,) = await runtime.poll()
    runtime.hub.edit(comment, "use both")
    (third,) = await runtime.poll()

    assert bodies([first, second, third]) == ["use tabs", "use spaces", "use both"]
    assert (second.supersedes, third.supersedes) == (first.id, second.id)
    assert second.written_at == "2026-01-01T12:02:10Z"


async def test_an_edit_within_the_second_is_an_edit(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "use tabs")
    polled = await runtime.bridge.events(runtime.context(), runtime.state)
    runtime.state = polled.state
    runtime.hub.edit(comment, "use spaces")

    (second,) = await runtime.poll()

    assert (second.body, second.supersedes) == ("use spaces", polled.events[0].id)


async def test_an_edit_of_what_is_long_past_names_what_it_was(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "use tabs")
    (first,) = await runtime.poll()
    runtime.state = None
    runtime.hub.edit(comment, "use spaces")

    (second,) = await runtime.poll()

    assert second.supersedes == first.id


@pytest.mark.parametrize("surface", ["comment", "inline", "review"])
async def test_a_bots_edit_of_its_own_words_is_no_event(runtime: Any, surface: str, pull: Any) -> None:
    runtime.hub.bot("coverage")
    say = {
        "comment": lambda: runtime.hub.comment(pull, "coverage", "81 %"),
        "inline": lambda: runtime.hub.inline(pull, "coverage", "81 %"),
        "review": lambda: runtime.hub.review(pull, "coverage", "COMMENTED", "81 %"),
    }
    post = say[surface]()
    assert bodies(await runtime.poll()) == ["81 %"]
    runtime.hub.edit(post, "82 %")
    runtime.hub.review(pull, "ann", "COMMENTED", "something else")  # so that the reviews are read again

    assert bodies(await runtime.poll()) == ["something else"]


async def test_a_comment_that_was_touched_but_not_edited_is_no_event(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "one")
    await runtime.poll()
    runtime.hub.touch(comment)

    assert await runtime.poll() == []


async def test_a_touch_does_not_change_what_a_comment_is_called(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "one")
    (before,) = await runtime.poll()
    comment.updated_at = comment.created_at + timedelta(seconds=1)
    runtime.hub.world.changed()
    runtime.state = None

    assert [event.id for event in await runtime.poll()] == [before.id]


async def test_an_edit_of_a_review_that_no_time_shows_is_found_with_the_next_review(runtime: Any, pull: Any) -> None:
    review = runtime.hub.review(pull, "ann", "COMMENTED", "my view")
    (first,) = await runtime.poll()
    runtime.hub.edit(review, "my other view")
    runtime.hub.review(pull, "eve", "COMMENTED", "mine")

    second = await runtime.poll()

    assert [(event.body, event.supersedes) for event in second] == [("my other view", first.id), ("mine", None)]


# ---- deletions


async def found_deleted(runtime: Any, polls: int = 8) -> list[Event]:
    """Return what the next polls tell of deletions; it is found when the pull request is shown alone."""
    return [event for _ in range(polls) for event in await runtime.poll() if event.type == "comment_deleted"]


@pytest.mark.parametrize("kind", ["comment", "inline", "reply"])
async def test_a_deleted_comment_is_reported_once_and_supersedes_the_comment(
    runtime: Any, kind: str, pull: Any
) -> None:
    post = runtime.hub.comment(pull, "ann", "one") if kind == "comment" else runtime.hub.inline(pull, "ann", "one")
    if kind == "reply":
        post = runtime.hub.reply_in_thread(post, "eve", "two")
    said = (await runtime.poll())[-1]
    runtime.hub.delete(post)

    (event,), more = await found_deleted(runtime), await found_deleted(runtime)

    assert (event.title, event.body, event.author, event.pr) == ("comment deleted", "", None, pull.number)
    assert (event.supersedes, event.id) == (said.id, f"{said.id}:deleted")
    assert event.context["remoteId"] == said.context["remoteId"]
    assert more == []


async def test_what_is_deleted_after_an_edit_supersedes_the_edit(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "use tabs")
    await runtime.poll()
    runtime.hub.edit(comment, "use spaces")
    (edit,) = await runtime.poll()
    runtime.hub.delete(comment)

    assert [event.supersedes for event in await found_deleted(runtime)] == [edit.id]


async def test_a_deletion_that_the_time_shows_is_found_by_the_next_poll(runtime: Any) -> None:
    runtime.hub.world.deletions_told = True
    pulls = [runtime.hub.pull() for _ in range(12)]
    comments = [runtime.hub.comment(pull, "ann", "one") for pull in pulls]
    runtime.track(*pulls)
    await runtime.poll()
    for comment in comments[:5]:
        runtime.hub.delete(comment)

    assert [event.pr for event in await found_deleted(runtime, polls=1)] == [pull.number for pull in pulls[:5]]


async def test_a_deletion_is_found_although_another_comment_came_meanwhile(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "one")
    (said,) = await runtime.poll()
    runtime.hub.delete(comment)
    runtime.hub.comment(pull, "ann", "two")

    assert [event.supersedes for event in await found_deleted(runtime)] == [said.id]


async def test_a_comment_that_was_never_read_is_not_missed_when_it_goes(runtime: Any, pull: Any) -> None:
    runtime.hub.delete(runtime.hub.comment(pull, "ann", "never mind"))

    assert await found_deleted(runtime) == []


async def test_what_was_said_before_the_pull_request_was_tracked_is_missed_too(runtime: Any) -> None:
    pull = runtime.hub.pull()
    comments = [runtime.hub.comment(pull, "ann", str(number)) for number in range(130)]
    runtime.track(pull)
    before = await runtime.poll()
    for comment in comments[3:120:60]:
        runtime.hub.delete(comment)

    assert {event.supersedes for event in await found_deleted(runtime)} == {before[3].id, before[63].id}


@pytest.mark.parametrize("trouble", [TIMEOUT, GARBAGE, answer(403, "no")], ids=repr)
@pytest.mark.parametrize(
    ("of", "skip"), [("*/issues/1/comments", 0), ("*/issues/1/comments", 1), ("*/issues/comments/*", 0)]
)
async def test_where_not_all_could_be_requested_nothing_is_taken_for_deleted(
    runtime: Any, trouble: Any, of: str, skip: int, pull: Any
) -> None:
    comments = [runtime.hub.comment(pull, "ann", str(number)) for number in range(130)]
    await runtime.poll()
    runtime.hub.delete(comments[70])
    runtime.hub.before_next(trouble, on=f"GET {of}", skip=skip)
    runtime.requests()

    told = [event.supersedes for event in await found_deleted(runtime)]

    assert told == [f"github:issuecomment-{comments[70].id}"]
    assert (
        len([asked for asked in runtime.requests() if "/issues/1/comments" in asked or "/issues/comments/" in asked])
        > 3
    )


async def one_deleted_and_the_others_missing(runtime: Any, pull: Any) -> str:
    """Delete one of three comments, have the others missing from the next list of the pull request's own, and return
    the id of the event of the one."""
    comments = [runtime.hub.comment(pull, "ann", str(number)) for number in range(3)]
    await runtime.poll()
    runtime.hub.delete(comments[0])
    kept = runtime.hub.world.comments_of(pull)
    own = f"GET */issues/{pull.number}/comments"
    runtime.hub.before_next(lambda: [runtime.hub.world.comments.pop(each.id) for each in kept], on=own)
    runtime.hub.after_next(lambda: runtime.hub.world.comments.update({each.id: each for each in kept}), on=own)
    return f"github:issuecomment-{comments[0].id}"


async def test_nothing_is_taken_for_deleted_where_the_pull_request_is_lost_from_sight_meanwhile(
    runtime: Any, pull: Any
) -> None:
    deleted = await one_deleted_and_the_others_missing(runtime, pull)
    own = f"GET */issues/{pull.number}/comments"
    runtime.hub.after_next(lambda: runtime.hub.before_next(answer(404, "Not Found"), times=4), on=own)

    assert [event.supersedes for event in await found_deleted(runtime)] == [deleted]


async def test_a_list_that_is_behind_deletes_nothing(runtime: Any, pull: Any) -> None:
    """What the list of all comments told of may be missing for a moment in the pull request's own."""
    deleted = await one_deleted_and_the_others_missing(runtime, pull)

    assert [event.supersedes for event in await found_deleted(runtime)] == [deleted]


async def test_what_is_forgotten_is_not_taken_for_deleted(runtime: Any, pull: Any) -> None:
    comments = [runtime.hub.comment(pull, "ann", str(number)) for number in range(5)]
    await runtime.poll()
    for comment in comments[:3]:
        runtime.state["posts"].pop(f"issuecomment-{comment.id}")
    runtime.hub.delete(comments[0])
    runtime.hub.delete(comments[4])

    assert [event.supersedes for event in await found_deleted(runtime)] == [f"github:issuecomment-{comments[4].id}"]


async def test_more_deletions_than_one_poll_reads_are_all_reported(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    pull = await watched(runtime)
    comments = [runtime.hub.comment(pull, "ann", str(number)) for number in range(70)]
    await runtime.poll()
    for comment in comments:
        runtime.hub.delete(comment)

    assert len({event.supersedes for event in await found_deleted(runtime)}) == 70


async def test_nothing_is_deleted_on_a_pull_request_that_is_gone(runtime: Any, pull: Any) -> None:
    comment = runtime.hub.comment(pull, "ann", "one")
    await runtime.poll()
    runtime.hub.delete(comment)
    runtime.hub.before_next(lambda: runtime.hub.delete(pull), on=f"GET */issues/{pull.number}/comments")

    assert types([event for _ in range(12) for event in await runtime.poll()]) == ["pr_closed"]


@pytest.mark.parametrize("payload", [Comment("Done."), React("eyes")], ids=["answer", "reaction"])
async def test_a_comment_that_prloom_meets_no_more_is_missed_by_the_next_poll(runtime: Any, payload: Any) -> None:
    pulls = [runtime.hub.pull() for _ in range(12)]
    roots = [runtime.hub.inline(pull, "ann", "why?") for pull in pulls]
    runtime.track(*pulls)
    said = await runtime.poll()
    for event, root in zip(said[:3], roots[:3], strict=True):
        runtime.hub.delete(root)
        await runtime.act(event.reply_to, payload)

    assert [event.supersedes for event in await found_deleted(runtime, polls=1)] == [event.id for event in said[:3]]


# ---- many


async def test_all_pages_are_read_and_the_oldest_comes_first(runtime: Any, pull: Any) -> None:
    for number in range(250):
        runtime.hub.comment(pull, "ann", str(number))
        runtime.clock.advance(seconds=1)

    events, more = await runtime.poll(), await runtime.poll()

    assert bodies(events) == [str(number) for number in range(250)]
    assert more == []


async def test_more_comments_of_one_second_than_a_page_holds_are_all_read(runtime: Any, pull: Any) -> None:
    for number in range(250):
        runtime.hub.comment(pull, "ann", str(number))

    events, more = await runtime.poll(), await runtime.poll()
    runtime.hub.comment(pull, "ann", "last")

    assert sorted(bodies(events), key=int) == [str(number) for number in range(250)]
    assert (more, bodies(await runtime.poll())) == ([], ["last"])


@pytest.mark.parametrize("count", [51, 99, 100, 101, 250])
async def test_after_a_burst_of_comments_an_idle_poll_is_free_again(runtime: Any, count: int, pull: Any) -> None:
    runtime.hub.review(pull, "ann", "COMMENTED", comments=[("src/engine.py", 7, f"remark {n}") for n in range(count)])
    heard = [event for _ in range(8) for event in await runtime.poll()]
    before = runtime.client.usage.charged

    assert [await runtime.poll() for _ in range(3)] == [[], [], []]
    assert sorted(bodies(heard)) == sorted(f"remark {number}" for number in range(count))
    assert runtime.client.usage.charged == before


@pytest.mark.parametrize("first", [0, 60])
@pytest.mark.parametrize("count", [50, 99, 100, 101, 200])
async def test_what_comes_after_a_page_that_was_just_full_is_read(
    runtime: Any, count: int, first: int, pull: Any
) -> None:
    for number in range(count):
        runtime.hub.inline(pull, "ann", f"remark {number}")
        if number == first:
            await runtime.poll(seconds=0)
    await runtime.poll(seconds=0)
    runtime.hub.inline(pull, "ann", "one more")
    runtime.hub.inline(pull, "ann", "and another")

    assert bodies(await runtime.poll(seconds=0)) == ["one more", "and another"]


@pytest.mark.parametrize("count", [99, 100, 101])
async def test_a_review_after_a_full_page_of_reviews_is_read(runtime: Any, count: int, pull: Any) -> None:
    for number in range(count):
        runtime.hub.review(pull, "ann", "COMMENTED", f"review {number}")
    assert len(await runtime.poll()) == count
    await runtime.poll(minutes=2)
    runtime.hub.review(pull, "ann", "COMMENTED", "one more")

    assert bodies(await runtime.poll()) == ["one more"]


async def happens(runtime: Any, pull: Any, what: str) -> None:
    match what:
        case "pr_comment":
            runtime.hub.comment(pull, "ann", "just then")
        case "pr_review_comment":
            runtime.hub.inline(pull, "ann", "just then")
        case "pr_review":
            runtime.hub.review(pull, "ann", "COMMENTED", "just then")
        case "pr_pushed":
            runtime.hub.push(pull)
        case "pr_closed":
            runtime.hub.close(pull)
        case "pr_merged":
            runtime.hub.merge(pull)


AT_ONCE = ["pr_comment", "pr_review_comment", "pr_review", "pr_pushed", "pr_closed", "pr_merged"]


@pytest.mark.parametrize("what", AT_ONCE)
@pytest.mark.parametrize("read_before", [True, False])
async def test_what_happens_right_after_a_read_within_the_same_second_is_seen(
    runtime: Any,
    what: str,
    read_before: bool,  # noqa: FBT001 - parametrised
) -> None:
    if read_before:
        pull = await watched(runtime)
        runtime.clock.advance(minutes=5)
        runtime.hub.comment(pull, "ann", "first")
    else:
        pull = runtime.hub.pull()
        runtime.track(pull)
    assert bodies(await runtime.poll(seconds=0)) == ["first"] * read_before
    await happens(runtime, pull, what)

    assert types([event for _ in range(3) for event in await runtime.poll()]) == [what]


async def test_an_edit_while_pages_are_turned_hides_nothing(runtime: Any, pull: Any) -> None:
    comments = []
    for number in range(150):
        comments.append(runtime.hub.comment(pull, "ann", str(number)))
        runtime.clock.advance(seconds=10)
    page = "GET */repos/ada/engine/issues/comments"
    runtime.hub.after_next(lambda: runtime.hub.edit(comments[5], "edited"), on=page)

    seen = [*bodies(await runtime.poll()), *bodies(await runtime.poll())]

    assert {str(number) for number in range(150)} | {"edited"} == set(seen)
    assert len(seen) == 151


async def test_a_comment_that_shows_up_late_is_not_missed(runtime: Any, pull: Any) -> None:
    for number in range(120):
        runtime.hub.comment(pull, "ann", str(number))
    await runtime.poll()
    runtime.hub.comment(pull, "ann", "late", late=timedelta(minutes=2))

    assert bodies(await runtime.poll()) == ["late"]


# ---- what becomes of a pull request


async def test_what_is_heard_says_which_commit_was_the_head_by_then(runtime: Any, pull: Any) -> None:
    before = pull.head.sha
    runtime.hub.comment(pull, "ann", "merge it")
    (comment,) = await runtime.poll()
    review = runtime.hub.review(pull, "ann", "APPROVED")
    after = runtime.hub.push(pull)

    approval = next(event for event in await runtime.poll() if event.type == "pr_review")

    assert comment.context["head"] == before
    assert (approval.context["commit"], approval.context["head"], review.commit) == (before, after, before)


async def test_each_poll_returns_the_heads_and_the_bases_of_all_pull_requests(runtime: Any) -> None:
    pulls = [await watched(runtime) for _ in range(2)]
    pulls[1].base.ref = "dev"
    runtime.hub.touch(pulls[1])
    runtime.clock.advance(minutes=1)

    polled = await runtime.bridge.events(runtime.context(), runtime.state)

    assert polled.heads == {pull.number: pull.head.sha for pull in pulls}
    assert polled.bases == {pulls[0].number: "main", pulls[1].number: "dev"}


async def test_a_push_is_reported_once(runtime: Any, pull: Any) -> None:
    before = pull.head.sha
    after = runtime.hub.push(pull)

    (event,) = await runtime.poll()

    assert (event.type, event.context) == (
        "pr_pushed",
        {"commit": after, "before": before, "head": after, "checks": event.context["checks"]},
    )
    assert event.author is None
    assert await runtime.poll() == []


async def test_closed_and_reopened_and_merged_are_reported_once_each(runtime: Any, pull: Any) -> None:
    told = []
    for happens in (runtime.hub.close, runtime.hub.reopen, runtime.hub.merge):
        happens(pull)
        told.append(types(await runtime.poll()))
        told.append(types(await runtime.poll()))

    assert told == [["pr_closed"], [], ["pr_reopened"], [], ["pr_merged"], []]


async def test_one_that_has_ended_before_says_so_at_first_sight(runtime: Any) -> None:
    pull = runtime.hub.pull()
    runtime.hub.merge(pull)
    runtime.track(pull)

    assert types(await runtime.poll()) == ["pr_merged"]


async def test_one_that_is_gone_is_closed(runtime: Any, pull: Any) -> None:
    other = await watched(runtime)
    runtime.hub.delete(pull)
    told = []
    for _ in range(20):
        told += await runtime.poll()

    assert [(event.type, event.pr) for event in told] == [("pr_closed", pull.number)]
    assert types(await runtime.poll()) == []
    runtime.hub.comment(other, "ann", "still here")
    assert bodies(await runtime.poll()) == ["still here"]


async def test_410_is_as_good_as_404(runtime: Any) -> None:
    await watched(runtime)
    runtime.hub.before_next(answer(410, "This was deleted"), on="GET */pulls/1", times=2)

    assert types([event for _ in range(8) for event in await runtime.poll()]) == ["pr_closed"]


@pytest.mark.parametrize("of", ["*/pulls/1", "*/pulls/1/reviews"])
async def test_one_that_is_there_again_when_it_is_asked_for_a_second_time_is_not_closed(
    runtime: Any, of: str, pull: Any
) -> None:
    runtime.hub.review(pull, "ann", "COMMENTED", "one")
    runtime.hub.before_next(answer(404, "Not Found"), on=f"GET {of}")
    told = [event for _ in range(20) for event in await runtime.poll()]
    runtime.hub.before_next(answer(404, "Not Found"), on=f"GET {of}")
    runtime.hub.review(pull, "ann", "COMMENTED", "two")
    told += [event for _ in range(20) for event in await runtime.poll()]

    assert bodies(told) == ["one", "two"]
    assert types(told) == ["pr_review"] * 2


@pytest.mark.parametrize("first", [True, False])
async def test_nothing_is_closed_where_the_repository_is_lost_from_sight_within_a_poll(
    runtime: Any, *, first: bool
) -> None:
    pull = runtime.hub.pull()
    runtime.track(pull)
    if not first:
        await runtime.poll()
        runtime.hub.review(pull, "ann", "COMMENTED", "one")
    runtime.hub.before_next(answer(404, "Not Found"), skip=3, times=100)
    told = await runtime.poll()
    for _ in range(3):
        with pytest.raises(HttpError, match="GitHub shows no repository"):
            await runtime.poll()

    assert told == []


@pytest.mark.parametrize("status", [401, 403, 451, 500])
@pytest.mark.parametrize("of", ["*/pulls/1", "*/pulls/1/reviews", "*/check-runs"])
async def test_whatever_else_github_answers_closes_nothing(runtime: Any, status: int, of: str, pull: Any) -> None:
    runtime.hub.comment(pull, "ann", "one")
    runtime.hub.before_next(answer(status, "no"), on=f"GET {of}", times=5)
    told = []
    for _ in range(12):
        try:
            told += await runtime.poll()
        except HttpError:
            continue

    assert types(told) == ["pr_comment"]


async def test_a_conflict_is_reported_once_and_again_when_there_is_a_new_one(runtime: Any, pull: Any) -> None:
    told = []
    for there in (True, False, True):
        runtime.hub.conflict(pull, there=there)
        runtime.clock.advance(minutes=1)
        runtime.hub.branch("main")
        told.append([kind for _ in range(4) for kind in types(await runtime.poll())])

    assert told == [["merge_conflict"], ["conflict_resolved"], ["merge_conflict"]]


async def test_what_resolves_a_conflict_takes_it_back(runtime: Any, pull: Any) -> None:
    told = []
    for there in (True, False):
        runtime.hub.conflict(pull, there=there)
        runtime.clock.advance(minutes=1)
        runtime.hub.branch("main")
        told += [event for _ in range(4) for event in await runtime.poll()]

    conflict, resolved = told
    assert (resolved.supersedes, resolved.notice) == (conflict.id, True)


async def test_a_conflict_that_stays_is_not_reported_again_when_the_base_moves_on(runtime: Any, pull: Any) -> None:
    runtime.hub.conflict(pull)
    told = []
    for _ in range(3):
        runtime.clock.advance(minutes=1)
        pull.base.sha = runtime.hub.branch("main")
        told += [kind for _ in range(3) for kind in types(await runtime.poll())]

    assert told == ["merge_conflict"]


async def test_a_conflict_that_no_push_shows_is_found_by_the_schedule(runtime: Any, pull: Any) -> None:
    runtime.hub.conflict(pull)

    told = [event for _ in range(12) for event in await runtime.poll()]

    assert types(told) == ["merge_conflict"]
    assert (told[0].severity, told[0].context["base"], told[0].title) == ("warning", "main", "conflicts with main")


@pytest.mark.parametrize("surface", ["comment", "inline"])
async def test_a_bots_edit_is_no_event_where_its_post_is_remembered_no_longer(
    runtime: Any, surface: str, pull: Any
) -> None:
    """Beyond 2,000 posts the oldest are forgotten; what prloom knows for ever is the ids of events."""
    runtime.hub.bot("coverage")
    post = getattr(runtime.hub, surface)(pull, "coverage", "80 %")
    runtime.clock.advance(minutes=1)
    runtime.hub.edit(post, "81 %")
    first = await runtime.poll()
    for percent in (82, 83):
        runtime.state["posts"] = {}
        runtime.hub.edit(post, f"{percent} %")
        again = await runtime.poll()

        assert [event.id for event in again] == [event.id for event in first]
    assert first[0].context["updatedAt"] == "2026-01-01T12:02:10Z"


# ---- clocks


@pytest.mark.parametrize("ahead", [timedelta(hours=8), timedelta(hours=-8)], ids=str)
@pytest.mark.parametrize("date", [True, False])
async def test_p1_no_comment_is_lost_by_a_clock_that_is_wrong(
    new_runtime: NewRuntime, ahead: timedelta, *, date: bool
) -> None:
    runtime = new_runtime(ahead=ahead)
    runtime.hub.world.tells_time = date
    pull = await watched(runtime)
    said, heard = [], []
    for number in range(20):
        said.append(runtime.hub.comment(pull, "ann", f"comment {number}").body)
        said.append(runtime.hub.inline(pull, "ann", f"line {number}").body)
        heard += [event.body for event in await runtime.poll(minutes=30)]

    assert sorted(heard) == sorted(said)


async def test_p1_what_a_feed_that_begins_in_a_time_to_come_has_missed_is_read_and_nothing_is_heard_twice(
    new_runtime: NewRuntime,
) -> None:
    """As an older prloom began it, by a clock that was ahead."""
    runtime = new_runtime()
    pull = await watched(runtime)
    heard = runtime.hub.comment(pull, "ann", "heard")
    await runtime.poll()
    runtime.hub.edit(heard, "heard, and edited")
    await runtime.poll()
    runtime.hub.comment(pull, "ann", "missed")
    for feed in ("comments", "inline"):
        runtime.state[feed] = {"since": "2026-01-01T19:00:00Z"}

    missed, after = await runtime.poll(), await runtime.poll()

    assert (bodies(missed), bodies(after)) == (["missed"], [])
    assert runtime.state["comments"]["since"] < "2026-01-01T13"


@pytest.mark.parametrize("status", [404, 500])
async def test_a_pull_request_that_was_due_when_githubs_clock_was_corrected_stops_no_other(
    new_runtime: NewRuntime, status: int
) -> None:
    """GitHub's clock was ahead, and the pull request that is due cannot be read when that was corrected."""
    runtime = new_runtime(ahead=timedelta(hours=-3))
    pull = await watched(runtime)
    due = await watched(runtime)
    runtime.hub.push(due)
    runtime.hub.before_next(answer(500), on="GET */pulls/2/reviews")
    await runtime.poll(seconds=30)
    assert runtime.state["reviewsDue"] == [due.number]
    runtime.hub.clock = runtime.clock
    runtime.hub.comment(pull, "ann", "hello")
    runtime.hub.before_next(answer(status), on="GET */pulls/2", times=3)

    assert bodies(await runtime.poll()) == ["hello"]
    await runtime.poll()
    runtime.hub.comment(due, "ann", "there")
    assert "there" in bodies([event for _ in range(4) for event in await runtime.poll()])


@pytest.mark.parametrize("known", [True, False])
async def test_an_unexpected_failure_with_one_pull_request_stops_no_other_and_loses_nothing(
    runtime: Any,
    caplog: pytest.LogCaptureFixture,
    known: bool,  # noqa: FBT001 - parametrised
) -> None:
    def fail() -> None:
        raise KeyError(7)

    pulls = [runtime.hub.pull() for _ in range(3)]
    if known:
        runtime.track(*pulls)
        await runtime.poll()
    for pull in pulls:
        runtime.hub.comment(pull, "ann", f"comment {pull.number}")
        runtime.hub.review(pull, "ann", "COMMENTED", f"review {pull.number}")
    runtime.clock.advance(hours=10)
    runtime.tracked = [pull.number for pull in pulls]
    runtime.hub.before_next(fail, on="GET */pulls/2/reviews")

    first, second = bodies(await runtime.poll()), bodies(await runtime.poll())

    assert {"comment 1", "review 1", "comment 3", "review 3"} <= set(first)
    assert sorted(first + second) == [f"{what} {number}" for what in ("comment", "review") for number in (1, 2, 3)]
    (record,) = caplog.records
    assert record.getMessage() == "a bug in the github bridge; the next poll reads #2 from the beginning"
    assert record.exc_info


async def test_that_a_pull_request_cannot_be_read_is_said_in_the_status_until_it_can(runtime: Any) -> None:
    def fail() -> None:
        raise KeyError("no such key")

    runtime.track(runtime.hub.pull(), runtime.hub.pull())
    runtime.hub.before_next(fail, on="GET */pulls/2/reviews")

    first = await runtime.bridge.events(runtime.context(), None)
    second = await runtime.bridge.events(runtime.context(), first.state)

    assert first.warnings == ("#2 cannot be read, by a bug in the github bridge: KeyError: 'no such key'",)
    assert second.warnings == ()


async def test_a_poll_says_what_time_it_is_at_github(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(ahead=timedelta(hours=8))
    runtime.track(runtime.hub.pull())

    polled = await runtime.bridge.events(runtime.context(), None)

    assert polled.now == runtime.hub.clock()


# ---- checks


@pytest.mark.parametrize("conclusion", ["failure", "timed_out"])
async def test_a_check_that_fails_is_reported_with_the_end_of_its_log(runtime: Any, conclusion: str, pull: Any) -> None:
    log = "\n".join([*(f"line {number}" for number in range(500)), "##[error]1 failed", "Post job cleanup."])
    runtime.hub.check(pull, "tests", conclusion, log=log)

    (event,) = [event for _ in range(4) for event in await runtime.poll()]

    assert (event.type, event.severity, event.context["check"]) == ("check_failed", "error", "tests")
    assert event.body.splitlines()[-2:] == ["line 499", "##[error]1 failed"]
    assert len(event.body.splitlines()) == 150
    assert event.context["checks"]["running"] == 0
    assert [event for _ in range(6) for event in await runtime.poll()] == []


async def test_a_check_that_runs_is_read_until_it_ends(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    check = runtime.hub.check(pull, "tests", None, app="circleci")
    await runtime.poll()
    runtime.hub.comment(pull, "ann", "hm")
    (meanwhile,) = await runtime.poll()
    runtime.hub.finish(check, "failure", log="no")

    (failed,) = await runtime.poll()

    assert meanwhile.context["checks"] == {
        "running": 1,
        "commit": pull.head.sha,
        "at": meanwhile.context["checks"]["at"],
    }
    assert (failed.type, failed.context["checks"]["running"]) == ("check_failed", 0)


async def test_a_check_that_runs_long_and_says_nothing_is_read_until_it_ends(runtime: Any, pull: Any) -> None:
    others = [runtime.hub.pull() for _ in range(20)]
    runtime.track(*others)
    runtime.hub.push(pull)
    check = runtime.hub.check(pull, "tests", None, app="circleci")
    await runtime.poll()
    for _ in range(30):
        await runtime.poll(minutes=10)
    runtime.hub.finish(check, "failure", log="no")

    assert types(await runtime.poll()) == ["check_failed"]


async def test_a_check_that_never_ends_is_left_to_the_schedule_in_the_end(new_runtime: NewRuntime) -> None:
    """Some statuses are pending for ever: a poll of which nothing comes must be free again."""
    runtime = new_runtime(rules=NONE)
    pull = await watched(runtime)
    runtime.hub.push(pull)
    runtime.hub.status(pull, "license", "pending")
    await runtime.poll()
    for _ in range(40):
        await runtime.poll(minutes=10)
    runtime.requests()
    before = runtime.client.usage.charged
    for _ in range(10):
        await runtime.poll()

    assert (len(runtime.requests()), runtime.client.usage.charged) == (40, before)


async def test_a_status_that_fails_is_reported_as_a_check_is(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    runtime.hub.status(pull, "ci/jenkins", "failure", "2 tests failed")

    event = next(event for event in await runtime.poll() if event.type == "check_failed")

    assert (event.title, event.body) == ("ci/jenkins failed (failure)", "2 tests failed")


async def test_a_check_that_fails_again_is_reported_again(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    runtime.hub.check(pull, "tests", "failure", log="one")
    await runtime.poll()
    runtime.hub.check(pull, "tests", "failure", log="two")

    assert bodies([event for _ in range(3) for event in await runtime.poll()]) == ["two"]


async def read_checks(runtime: Any) -> list[Event]:
    told = [event for _ in range(3) for event in await runtime.poll()]
    return [event for event in told if event.type.startswith("check_")]


@pytest.mark.parametrize("conclusion", ["success", "neutral", "skipped"])
async def test_a_check_that_passes_when_it_is_run_again_takes_its_failures_back(
    runtime: Any, conclusion: str, pull: Any
) -> None:
    told = []
    for each in ("failure", "failure", None, conclusion):
        runtime.hub.check(pull, "tests", each)
        told += await read_checks(runtime)

    first, second, passed = told
    assert (second.type, second.supersedes) == ("check_failed", first.id)
    assert (passed.type, passed.title, passed.supersedes) == ("check_passed", "tests passed", second.id)
    assert passed.notice
    assert await read_checks(runtime) == []


async def test_a_check_that_an_app_corrects_in_its_place_takes_the_failure_back(runtime: Any, pull: Any) -> None:
    check = runtime.hub.check(pull, "lint", "failure", app="circleci", log="no")
    (failed,) = await read_checks(runtime)
    runtime.hub.finish(check, "success")
    (passed,) = await read_checks(runtime)

    assert (passed.type, passed.supersedes) == ("check_passed", failed.id)


async def test_a_status_that_becomes_successful_takes_the_failure_back(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    told = []
    for state in ("error", "pending", "success"):
        runtime.hub.status(pull, "ci/jenkins", state)
        told += await read_checks(runtime)

    failed, passed = told
    assert (passed.type, passed.supersedes) == ("check_passed", failed.id)


@pytest.mark.parametrize(("name", "conclusion"), [("lint", "success"), ("tests", "cancelled")])
async def test_neither_another_check_nor_a_run_that_was_cut_short_takes_a_failure_back(
    runtime: Any, name: str, conclusion: str, pull: Any
) -> None:
    runtime.hub.check(pull, "tests", "failure")
    told = await read_checks(runtime)
    runtime.hub.check(pull, name, conclusion)

    assert [*types(told), *types(await read_checks(runtime))] == ["check_failed"]


async def test_a_job_of_the_same_name_in_another_workflow_takes_no_failure_back(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    runtime.hub.check(pull, "build", "failure", app="circleci", log="no")
    told = await read_checks(runtime)
    runtime.hub.check(pull, "build", "success", app="github-actions")

    assert [*types(told), *types(await read_checks(runtime))] == ["check_failed"]


async def test_a_push_back_to_an_earlier_commit_is_a_push(runtime: Any, pull: Any) -> None:
    first = pull.head.sha
    told = []
    for sha in (runtime.hub.push(pull), first, runtime.hub.world.next_sha(), first):
        pull.head.sha, pull.updated_at = sha, runtime.clock.now
        told += [event.context["commit"] for event in await runtime.poll() if event.type == "pr_pushed"]

    assert told[1] == told[3] == first


async def test_a_check_that_was_reported_is_not_reported_again_when_another_ends(runtime: Any, pull: Any) -> None:
    runtime.hub.push(pull)
    runtime.hub.check(pull, "lint", "failure", log="one")
    running = runtime.hub.check(pull, "tests", None)
    first = await runtime.poll()
    runtime.hub.finish(running, "failure", log="two")

    second = await runtime.poll()

    assert (bodies(first)[1:], bodies(second)) == (["one"], ["two"])


async def test_checks_that_begin_to_change_are_read_in_each_poll(runtime: Any) -> None:
    pulls = [await watched(runtime) for _ in range(3)]
    runtime.hub.status(pulls[1], "nightly", "success")
    for _ in range(8 * 3):
        await runtime.poll()
    runtime.hub.status(pulls[1], "nightly", "failure", "broken")

    assert bodies(await runtime.poll()) == ["broken"]


async def test_a_check_that_fails_long_after_the_push_is_found_by_the_schedule(runtime: Any) -> None:
    pulls = [await watched(runtime) for _ in range(3)]
    runtime.hub.status(pulls[1], "nightly", "failure", "broken")

    told = [event for _ in range(8 * 3) for event in await runtime.poll()]

    assert types(told) == ["check_failed"]


async def test_a_log_that_cannot_be_read_does_not_hide_the_failure(runtime: Any, pull: Any) -> None:
    runtime.hub.check(pull, "tests", "failure")

    told = [event for _ in range(4) for event in await runtime.poll()]

    assert types(told) == ["check_failed"]
    assert told[0].body.startswith("(the log cannot be read: GET /repos/ada/engine/actions/jobs/")


async def test_a_log_is_fetched_without_showing_the_token_to_the_host_that_keeps_it(runtime: Any, pull: Any) -> None:
    runtime.hub.check(pull, "tests", "failure", log="no")
    for _ in range(4):
        await runtime.poll()

    assert [(each.outcome, each.saw_token) for each in runtime.hub.elsewhere] == [(200, False)]


@pytest.mark.parametrize(
    ("fork", "author"), [(False, ("ada", "write")), (True, ("ann", None)), ("eve", ("eve", None))], ids=str
)
async def test_p7_a_failure_is_the_word_of_who_owns_the_head_repository_whoever_opened_the_pull_request(
    runtime: Any, *, fork: bool | str, author: tuple[str, str | None]
) -> None:
    pull = await watched(runtime, by="ann", fork=fork)
    runtime.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await runtime.poll()]

    assert (event.author.login, event.author.trust) == author


async def test_p7_a_failure_in_a_repository_that_is_gone_is_the_word_of_nobody_who_has_permission(runtime: Any) -> None:
    pull = runtime.hub.pull(by="ann", fork="eve")
    runtime.hub.delete_fork(pull)
    runtime.track(pull)
    await runtime.poll()
    runtime.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await runtime.poll()]

    assert (event.author.login, event.author.trust) == ("ghost", "none")


async def test_p7_the_owner_is_asked_for_where_the_cursor_is_of_a_prloom_that_did_not_remember_it(runtime: Any) -> None:
    pull = await watched(runtime, by="ann", fork="eve")
    del runtime.state["pullRequests"][str(pull.number)]["owner"]
    runtime.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await runtime.poll()]

    assert (event.author.login, event.author.trust) == ("eve", None)


@pytest.mark.parametrize("what", ["check-runs", "statuses", "actions/runs"])
async def test_a_failure_to_ask_for_checks_is_not_taken_for_a_prohibition(runtime: Any, what: str, pull: Any) -> None:
    runtime.hub.push(pull)
    runtime.hub.check(pull, "tests", "failure", log="one")
    runtime.hub.status(pull, "ci", "failure", "two")
    runtime.hub.before_next(BAD_GATEWAY, on=f"GET *{what}", times=2)

    told = [event for _ in range(4) for event in await runtime.poll()]

    assert sorted(bodies([event for event in told if event.type == "check_failed"])) == ["one", "two"]


async def test_a_token_that_may_not_see_checks_hears_everything_else(new_runtime: NewRuntime) -> None:
    runtime = new_runtime()
    permissions = {"metadata": "read", "pull_requests": "write", "issues": "write"}
    runtime.token = runtime.hub.token("ada", permissions=permissions)
    runtime.client = runtime.connect()
    pull = await watched(runtime)
    runtime.hub.push(pull)
    await runtime.poll()
    runtime.hub.comment(pull, "ann", "hello")

    assert bodies(await runtime.poll()) == ["hello"]
    runtime.requests()
    await runtime.poll()
    assert not [asked for asked in runtime.requests() if "403" in asked]


async def test_a_token_that_may_see_actions_and_no_checks_learns_from_the_jobs(new_runtime: NewRuntime) -> None:
    """As it is with GitHub's fine-grained tokens."""
    runtime = new_runtime()
    permissions = {"metadata": "read", "pull_requests": "write", "issues": "write", "actions": "read"}
    runtime.token = runtime.hub.token("ada", permissions=permissions)
    runtime.client = runtime.connect()
    pull = await watched(runtime)
    check = runtime.hub.check(pull, "tests", None)
    for _ in range(3):
        assert await runtime.poll() == []
    runtime.hub.finish(check, "failure", log="##[error]no")

    told = [event for _ in range(6) for event in await runtime.poll()]

    assert [(event.id, event.title, event.body) for event in told] == [
        (f"github:check-{check.id}@2026-01-01T12:04:10Z", "tests failed (failure)", "##[error]no")
    ]


# ---- what goes wrong


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, GARBAGE, TRUNCATED, answer(500)], ids=repr)
@pytest.mark.parametrize("skip", range(3))
async def test_where_a_list_fails_nothing_is_taken_as_read(runtime: Any, trouble: Any, skip: int, pull: Any) -> None:
    runtime.hub.comment(pull, "ann", "one")
    runtime.hub.inline(pull, "ann", "two")
    runtime.hub.review(pull, "ann", "COMMENTED", "three")
    runtime.hub.before_next(trouble, skip=skip)

    with pytest.raises(HttpError):
        await runtime.poll()

    assert sorted(bodies(await runtime.poll())) == ["one", "three", "two"]


@pytest.mark.parametrize("trouble", [TIMEOUT, GARBAGE, answer(403, "no")], ids=repr)
@pytest.mark.parametrize("skip", range(3, 10))
async def test_what_could_not_be_requested_for_one_pull_request_is_requested_again(
    runtime: Any, trouble: Any, skip: int
) -> None:
    """The first look at two pull requests takes some requests each; one of them fails."""
    pulls = [runtime.hub.pull(), runtime.hub.pull()]
    for pull in pulls:
        runtime.hub.comment(pull, "ann", "one")
        runtime.hub.review(pull, "ann", "COMMENTED", "two")
    runtime.track(*pulls)
    runtime.hub.before_next(trouble, skip=skip)

    told = [event for _ in range(3) for event in await runtime.poll()]

    assert sorted({event.id: event.body for event in told}.values()) == ["one", "one", "two", "two"]


async def test_a_review_that_could_not_be_read_is_read_by_the_next_poll(runtime: Any, pull: Any) -> None:
    runtime.hub.review(pull, "ann", "COMMENTED", "my view")
    runtime.hub.before_next(BAD_GATEWAY, on="GET */reviews")

    assert (bodies(await runtime.poll()), bodies(await runtime.poll())) == ([], ["my view"])


async def test_a_token_that_is_not_accepted_is_said_in_one_clear_line(runtime: Any) -> None:
    await watched(runtime)
    runtime.hub.revoke(runtime.token)

    with pytest.raises(HttpError) as caught:
        await runtime.poll()

    assert str(caught.value) == (
        "GitHub does not accept the token (401); write another into the file that GITHUB_TOKEN_FILE names, or run "
        "`gh auth login`, or set GITHUB_TOKEN and start prloom again (GET /repos/ada/engine/pulls: 401)"
    )


async def test_a_limit_is_waited_for_and_nothing_is_lost(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "ann", "one")
    runtime.hub.slow_down("ada", timedelta(minutes=10))
    asked = []
    for _ in range(9):
        with pytest.raises(HttpError):
            await runtime.poll()
        asked.append(len(runtime.requests()))

    assert sum(asked[1:]) == 0
    assert bodies([event for _ in range(4) for event in await runtime.poll()]) == ["one"]


async def test_a_cursor_that_cannot_be_read_costs_a_poll_and_no_second_answer(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "ann", "one")
    before = [event.id for event in await runtime.poll()]
    for state in ({"comments": 7}, [], "x", {"pullRequests": {"x": 1}}):
        runtime.state = state

        assert [event.id for event in await runtime.poll()] == before


async def test_a_repository_that_was_renamed_is_read_by_its_new_name_from_then_on(runtime: Any, pull: Any) -> None:
    runtime.hub.rename("motor")
    runtime.hub.comment(pull, "ann", "one")
    first = await runtime.poll()
    runtime.requests()
    await runtime.poll()
    await runtime.say(first[0].reply_to)

    assert bodies(first) == ["one"]
    assert {asked.split(" ")[1].split("/")[3] for asked in runtime.requests()} == {"motor"}


async def test_that_a_repository_was_renamed_is_said_until_it_is_configured(runtime: Any) -> None:
    await watched(runtime)
    first = await runtime.bridge.events(runtime.context(), runtime.state)
    runtime.hub.rename("motor")
    second = await runtime.bridge.events(runtime.context(), first.state)
    third = await runtime.bridge.events(runtime.context(), second.state)

    (warning,) = third.warnings
    assert [first.warnings, second.warnings] == [(), (warning,)]
    assert warning == (
        'ada/engine was renamed to ada/motor; set `repo = "ada/motor"` in [bridges.github], '
        "or change the address of `origin`"
    )


async def test_a_repository_that_has_its_old_name_again_is_found_by_it(runtime: Any, pull: Any) -> None:
    runtime.hub.rename("motor")
    await runtime.poll()
    runtime.hub.rename("engine")
    runtime.hub.world.old_names.clear()
    runtime.hub.comment(pull, "ann", "one")

    assert bodies(await runtime.poll()) == ["one"]
    runtime.requests()
    await runtime.poll()
    assert {asked.split(" ")[1].split("/")[3] for asked in runtime.requests()} == {"engine"}


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (
            needs_sso("https://github.com/orgs/acme/sso?authorization_request=A1B2"),
            (
                "GitHub does not let this token read ada/engine: Resource protected by organization SAML enforcement. "
                "You must grant your Personal Access token access. Authorize the token for single sign-on: "
                "https://github.com/orgs/acme/sso?authorization_request=A1B2 (GET /repos/ada/engine/pulls: 403)"
            ),
        ),
        (
            blocked("https://github.com/github/dmca/engine.md"),
            (
                "GitHub does not let this token read ada/engine: Repository access blocked "
                "(dmca: https://github.com/github/dmca/engine.md) (GET /repos/ada/engine/pulls: 451)"
            ),
        ),
        (answer(422, "Validation Failed"), "GET /repos/ada/engine/pulls: 422: Validation Failed"),
        (answer(503, "We are down"), "GET /repos/ada/engine/pulls: 503: We are down"),
        (BAD_GATEWAY, "GET /repos/ada/engine/pulls: 502"),
    ],
    ids=["single sign-on", "blocked", "refused", "down", "no words"],
)
async def test_a_poll_that_fails_says_so_in_githubs_words(runtime: Any, trouble: Any, error: str) -> None:
    await watched(runtime)
    runtime.hub.before_next(trouble)

    with pytest.raises(HttpError) as raised:
        await runtime.poll()

    assert str(raised.value) == error


async def test_a_server_below_a_base_path_is_read_as_well(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(api_url="https://ghe.example/base/api/v3", web_url="https://ghe.example/base")
    pull = await watched(runtime)
    for number in range(120):
        runtime.hub.comment(pull, "ann", str(number))

    assert len(await runtime.poll()) == 120


# ---- money


@pytest.mark.parametrize("count", [1, 101])  # more than a page of them; benchmarks has 300
async def test_an_idle_poll_costs_four_requests_for_any_number_of_pull_requests_and_none_is_charged(
    new_runtime: NewRuntime, count: int
) -> None:
    runtime = new_runtime()
    runtime.track(*(runtime.hub.pull() for _ in range(count)))
    for _ in range(20):
        await runtime.poll()
    runtime.requests()
    before, costs = runtime.client.usage.charged, []
    for _ in range(20):
        assert await runtime.poll() == []
        assert runtime.hub.charged == 0
        costs.append(len(runtime.requests()))

    assert (set(costs), runtime.client.usage.charged) == ({4}, before)
    assert not runtime.hub.complaints


async def test_one_new_comment_costs_one_request_that_is_charged_and_its_pull_requests_reviews(
    new_runtime: NewRuntime,
) -> None:
    runtime = new_runtime(rules=NONE)
    pulls = [runtime.hub.pull() for _ in range(20)]
    runtime.track(*pulls)
    for _ in range(3):
        await runtime.poll()
    runtime.requests()
    runtime.hub.comment(pulls[7], "ann", "hello")
    before = runtime.client.usage.charged
    await runtime.poll()

    assert (len(runtime.requests()), runtime.client.usage.charged - before) == (5, 2)
    before = runtime.client.usage.charged
    await runtime.poll()
    assert (len(runtime.requests()), runtime.client.usage.charged - before) == (4, 0)


async def test_a_change_without_words_costs_two_requests_more_and_two_that_are_charged(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    pulls = [runtime.hub.pull() for _ in range(20)]
    runtime.track(*pulls)
    for _ in range(3):
        await runtime.poll()
    runtime.requests()
    runtime.hub.label(pulls[7], "bug")
    before = runtime.client.usage.charged

    assert await runtime.poll() == []
    assert (len(runtime.requests()), runtime.client.usage.charged - before) == (6, 2)


async def test_a_push_to_a_branch_that_is_no_base_is_not_read(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    pulls = [runtime.hub.pull() for _ in range(20)]
    runtime.track(*pulls)
    for _ in range(3):
        await runtime.poll()
    runtime.hub.branch("other")
    runtime.hub.comment(pulls[0], "ann", "hm")
    await runtime.poll()
    runtime.requests()
    runtime.clock.advance(minutes=1)
    runtime.hub.branch("other")
    runtime.hub.comment(pulls[0], "ann", "hm")
    await runtime.poll()
    there = runtime.requests()
    runtime.hub.branch("main")
    runtime.hub.comment(pulls[0], "ann", "hm")
    await runtime.poll()

    asked = "GET /repos/ada/engine/pulls/"
    assert len([each for each in there if each.startswith(asked) and "reviews" not in each]) <= 2
    assert len([each for each in runtime.requests() if each.startswith(asked)]) >= 10


async def test_a_token_that_may_not_see_branches_is_refused_that_once_in_six_hours(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.token = runtime.hub.token("ada", permissions={"metadata": "read", "pull_requests": "write"})
    runtime.client = runtime.connect()
    pull = await watched(runtime)
    runtime.hub.conflict(pull)
    told = []
    for _ in range(5):
        runtime.hub.branch("main")
        runtime.hub.comment(pull, "ann", "hm")
        told += await runtime.poll(minutes=30)

    assert len([asked for asked in runtime.requests() if "/branches/main -> 403" in asked]) == 1
    assert "merge_conflict" in types(told)


async def test_a_token_that_is_revoked_meanwhile_ends_the_poll(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.track(*(runtime.hub.pull() for _ in range(50)))
    runtime.hub.before_next(answer(401), skip=6, times=400)

    await runtime.poll()

    assert len(runtime.requests()) == 7
