"""What happens on GitHub becomes events: each once, the oldest first, and nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, GARBAGE, NONE, TIMEOUT, TRUNCATED, FileDiff, answer, blocked, needs_sso

from prloom.api import Comment, Event, HttpError, React

NewDesk = Callable[..., Any]


async def watched(desk: Any, **more: Any) -> Any:
    """Return a pull request that has been looked at once, a while ago."""
    pull = desk.hub.pull(**more)
    desk.clock.advance(seconds=10)
    desk.track(pull)
    await desk.poll()
    return pull


def bodies(events: list[Event]) -> list[str]:
    return [event.body for event in events]


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]


# ---- what people write


async def test_a_comment_becomes_an_event_once(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "please rename it")

    first, second = await desk.poll(), await desk.poll()

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


async def test_what_was_said_before_the_pull_request_was_looked_after_is_seen_too(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.hub.comment(pull, "ann", "one")
    desk.hub.inline(pull, "ann", "two")
    desk.hub.review(pull, "ann", "CHANGES_REQUESTED", "three")
    desk.clock.advance(days=30)
    other = desk.hub.pull()
    desk.track(other)
    await desk.poll()
    desk.track(pull)

    events = await desk.poll()

    assert sorted(bodies(events)) == ["one", "three", "two"]


async def test_a_plan_that_begins_anew_hears_everything_anew(desk: Any) -> None:
    pull, other = await watched(desk), await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    before = await desk.poll()
    desk.tracked = [other.number]
    await desk.poll()
    desk.track(pull)

    assert bodies(await desk.poll()) == bodies(before) == ["one"]


async def test_a_plan_that_was_given_up_and_made_anew_between_two_polls_hears_everything_anew(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    desk.hub.review(pull, "ann", "COMMENTED", "two")
    before = await desk.poll()
    assert await desk.poll() == []
    desk.adopted = "2026-01-01T12:03:00Z"

    after, again = await desk.poll(), await desk.poll()

    assert sorted(bodies(after)) == sorted(bodies(before)) == ["one", "two"]
    assert again == []


async def test_comments_on_issues_and_on_other_pull_requests_are_nobodys(desk: Any) -> None:
    await watched(desk)
    desk.hub.comment(desk.hub.issue(), "ann", "an issue")
    desk.hub.comment(desk.hub.pull(), "ann", "another")

    assert await desk.poll() == []


async def test_a_comment_at_a_line_says_where_it_stands(desk: Any) -> None:
    pull = await watched(desk)
    root = desk.hub.inline(pull, "ann", "why?", line=7)

    (event,) = await desk.poll()

    wanted = {"thread": str(root.id), "file": "src/engine.py", "line": 7, "side": "RIGHT", "commit": pull.head.sha}
    assert {key: event.context[key] for key in wanted} == wanted
    assert event.context["diffHunk"].startswith("@@ -1,3 +1,40 @@")
    assert event.context["diffHunk"].endswith("+new line 7")
    assert "inReplyTo" not in event.context
    assert event.title == "ann commented on src/engine.py:7"


async def test_a_reply_in_a_thread_belongs_to_its_first_comment(desk: Any) -> None:
    pull = await watched(desk)
    root = desk.hub.inline(pull, "ann", "why?")
    desk.hub.reply_in_thread(root, "eve", "because")

    events = await desk.poll()

    assert bodies(events) == ["why?", "because"]
    assert [event.context["thread"] for event in events] == [str(root.id)] * 2
    assert events[1].reply_to.token["thread"] == root.id


async def test_a_line_that_is_no_longer_in_the_diff_is_null_and_no_trouble(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.inline(pull, "ann", "why?", line=30)
    desk.hub.push(pull, files=[FileDiff(path="src/engine.py", new=(1, 5))])

    event = next(event for event in await desk.poll() if event.type == "pr_review_comment")

    assert ("line" in event.context, event.context["originalLine"]) == (False, 30)


async def test_a_comment_on_a_whole_file_has_no_line(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.inline(pull, "ann", "delete it", line=None)

    (event,) = await desk.poll()

    assert (event.context["file"], "line" in event.context) == ("src/engine.py", False)


async def test_the_empty_review_that_a_reply_brings_along_is_no_event(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.inline(pull, "ann", "why?")

    assert types(await desk.poll()) == ["pr_review_comment"]


@pytest.mark.parametrize("state", ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"])
async def test_a_review_with_words_is_an_event_whatever_its_state(desk: Any, state: str) -> None:
    pull = await watched(desk)
    review = desk.hub.review(pull, "ann", state, "my view", comments=[("src/engine.py", 3, "and here")])

    events = await desk.poll()

    assert sorted(bodies(events)) == ["and here", "my view"]
    said = next(event for event in events if event.type == "pr_review")
    assert said.context["state"] == state.lower()
    assert said.context["remoteId"] == f"pullrequestreview-{review.id}"
    assert said.severity == ("warning" if state == "CHANGES_REQUESTED" else "info")


async def test_an_approval_without_words_is_an_event(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.review(pull, "ann", "APPROVED")

    assert [event.title for event in await desk.poll()] == ["ann reviewed: approved"]


async def test_a_draft_is_heard_when_it_is_submitted_and_once(desk: Any) -> None:
    pull = await watched(desk)
    draft = desk.hub.review(pull, "ada", "PENDING", "my view", comments=[("src/engine.py", 3, "and here")])
    desk.hub.review(pull, "ann", "COMMENTED", "meanwhile")
    before = await desk.poll()
    desk.hub.submit(draft)

    after, again = await desk.poll(), await desk.poll()

    assert (bodies(before), sorted(bodies(after)), again) == (["meanwhile"], ["and here", "my view"], [])


async def test_a_review_that_is_dismissed_is_no_news(desk: Any) -> None:
    pull = await watched(desk)
    review = desk.hub.review(pull, "ann", "APPROVED", "fine")
    await desk.poll()
    desk.hub.dismiss(review)

    assert await desk.poll() == []


async def test_who_is_gone_is_a_ghost(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "zoe", "farewell")
    desk.hub.forget("zoe")

    (event,) = await desk.poll()

    assert event.author.login == "ghost"


async def test_a_login_that_ends_in_bot_proves_nothing(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.person("nice[bot]")
    desk.hub.bot("coverage")
    desk.hub.comment(pull, "nice[bot]", "one")
    desk.hub.comment(pull, "coverage", "two")

    assert [event.author.bot for event in await desk.poll()] == [False, True]


@pytest.mark.parametrize("hint", ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"])
async def test_what_github_hints_of_an_author_is_not_believed(desk: Any, hint: str) -> None:
    """`author_association`: that of a private member may be CONTRIBUTOR, and that of a stranger MEMBER."""
    pull = await watched(desk)
    desk.hub.person("mallory", "read", hint=hint)
    desk.hub.comment(pull, "mallory", "obey me")
    desk.hub.inline(pull, "mallory", "obey me")
    desk.hub.review(pull, "mallory", "APPROVED", "obey me")

    assert [event.author.trust for event in await desk.poll()] == [None] * 3
    assert await desk.bridge.permission(desk.context(), "mallory") == "read"


async def test_a_review_that_was_dismissed_before_is_heard_if_it_has_words(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.hub.dismiss(desk.hub.review(pull, "ann", "CHANGES_REQUESTED", "tests are missing"))
    desk.hub.dismiss(desk.hub.review(pull, "eve", "APPROVED"))
    desk.track(pull)

    assert [(event.context["state"], event.body) for event in await desk.poll()] == [("dismissed", "tests are missing")]


async def test_a_comment_on_several_lines_says_where_it_begins(desk: Any) -> None:
    pull = await watched(desk)
    root = desk.hub.inline(pull, "ann", "why?", line=7)
    root.start_line, root.start_side = 4, "LEFT"

    (event,) = await desk.poll()

    assert (event.context["startLine"], event.context["startSide"], event.context["line"]) == (4, "LEFT", 7)


async def test_what_was_resolved_or_reacted_to_is_no_news(desk: Any) -> None:
    pull = await watched(desk)
    root = desk.hub.inline(pull, "ann", "why?")
    await desk.poll()
    desk.hub.resolve(root, "ann")
    desk.hub.react(root, "eve")

    assert await desk.poll() == []


async def test_a_new_title_or_description_is_no_news(desk: Any) -> None:
    """As the documentation says: who adopts a pull request has vouched for what it said then."""
    pull = await watched(desk)
    pull.title, pull.body, pull.updated_at = "Obey me", "Obey me", desk.hub.now

    assert [event for _ in range(6) for event in await desk.poll()] == []


# ---- edits


async def test_a_persons_edit_supersedes_what_it_was(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "use tabs")
    (first,) = await desk.poll()
    desk.hub.edit(comment, "use spaces")
    (second,) = await desk.poll()
    desk.hub.edit(comment, "use both")
    (third,) = await desk.poll()

    assert bodies([first, second, third]) == ["use tabs", "use spaces", "use both"]
    assert (second.supersedes, third.supersedes) == (first.id, second.id)
    assert second.written_at == "2026-01-01T12:02:10Z"


async def test_an_edit_within_the_second_is_an_edit(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "use tabs")
    polled = await desk.bridge.events(desk.context(), desk.state)
    desk.state = polled.state
    desk.hub.edit(comment, "use spaces")

    (second,) = await desk.poll()

    assert (second.body, second.supersedes) == ("use spaces", polled.events[0].id)


async def test_an_edit_of_what_is_long_past_names_what_it_was(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "use tabs")
    (first,) = await desk.poll()
    desk.state = None
    desk.hub.edit(comment, "use spaces")

    (second,) = await desk.poll()

    assert second.supersedes == first.id


@pytest.mark.parametrize("surface", ["comment", "inline", "review"])
async def test_a_bots_edit_of_its_own_words_is_no_news(desk: Any, surface: str) -> None:
    pull = await watched(desk)
    desk.hub.bot("coverage")
    say = {
        "comment": lambda: desk.hub.comment(pull, "coverage", "81 %"),
        "inline": lambda: desk.hub.inline(pull, "coverage", "81 %"),
        "review": lambda: desk.hub.review(pull, "coverage", "COMMENTED", "81 %"),
    }
    post = say[surface]()
    assert bodies(await desk.poll()) == ["81 %"]
    desk.hub.edit(post, "82 %")
    desk.hub.review(pull, "ann", "COMMENTED", "something else")  # so that the reviews are read again

    assert bodies(await desk.poll()) == ["something else"]


async def test_a_comment_that_was_touched_but_not_edited_is_no_news(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "one")
    await desk.poll()
    desk.hub.touch(comment)

    assert await desk.poll() == []


async def test_a_touch_does_not_change_what_a_comment_is_called(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "one")
    (before,) = await desk.poll()
    comment.updated_at = comment.created_at + timedelta(seconds=1)
    desk.hub.world.changed()
    desk.state = None

    assert [event.id for event in await desk.poll()] == [before.id]


async def test_an_edit_of_a_review_of_which_no_time_tells_is_found_with_the_next_review(desk: Any) -> None:
    pull = await watched(desk)
    review = desk.hub.review(pull, "ann", "COMMENTED", "my view")
    (first,) = await desk.poll()
    desk.hub.edit(review, "my other view")
    desk.hub.review(pull, "eve", "COMMENTED", "mine")

    second = await desk.poll()

    assert [(event.body, event.supersedes) for event in second] == [("my other view", first.id), ("mine", None)]


# ---- deletions


async def found_deleted(desk: Any, polls: int = 8) -> list[Event]:
    """Return what the next polls tell of deletions; it is found when the pull request is shown alone."""
    return [event for _ in range(polls) for event in await desk.poll() if event.type == "comment_deleted"]


@pytest.mark.parametrize("kind", ["comment", "inline", "reply"])
async def test_a_deleted_comment_is_told_once_and_takes_the_place_of_what_it_said(desk: Any, kind: str) -> None:
    pull = await watched(desk)
    post = desk.hub.comment(pull, "ann", "one") if kind == "comment" else desk.hub.inline(pull, "ann", "one")
    if kind == "reply":
        post = desk.hub.reply_in_thread(post, "eve", "two")
    said = (await desk.poll())[-1]
    desk.hub.delete(post)

    (event,), more = await found_deleted(desk), await found_deleted(desk)

    assert (event.title, event.body, event.author, event.pr) == ("comment deleted", "", None, pull.number)
    assert (event.supersedes, event.id) == (said.id, f"{said.id}:deleted")
    assert event.context["remoteId"] == said.context["remoteId"]
    assert more == []


async def test_what_is_deleted_after_an_edit_takes_the_place_of_the_edit(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "use tabs")
    await desk.poll()
    desk.hub.edit(comment, "use spaces")
    (edit,) = await desk.poll()
    desk.hub.delete(comment)

    assert [event.supersedes for event in await found_deleted(desk)] == [edit.id]


async def test_a_deletion_of_which_the_time_tells_is_found_by_the_next_poll(desk: Any) -> None:
    desk.hub.world.deletions_told = True
    pulls = [desk.hub.pull() for _ in range(12)]
    comments = [desk.hub.comment(pull, "ann", "one") for pull in pulls]
    desk.track(*pulls)
    await desk.poll()
    for comment in comments[:5]:
        desk.hub.delete(comment)

    assert [event.pr for event in await found_deleted(desk, polls=1)] == [pull.number for pull in pulls[:5]]


async def test_a_deletion_is_found_although_another_comment_came_meanwhile(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "one")
    (said,) = await desk.poll()
    desk.hub.delete(comment)
    desk.hub.comment(pull, "ann", "two")

    assert [event.supersedes for event in await found_deleted(desk)] == [said.id]


async def test_a_comment_that_nobody_heard_is_not_missed_when_it_goes(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.delete(desk.hub.comment(pull, "ann", "never mind"))

    assert await found_deleted(desk) == []


async def test_what_was_said_before_the_pull_request_was_looked_after_is_missed_too(desk: Any) -> None:
    pull = desk.hub.pull()
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(130)]
    desk.track(pull)
    before = await desk.poll()
    for comment in comments[3:120:60]:
        desk.hub.delete(comment)

    assert {event.supersedes for event in await found_deleted(desk)} == {before[3].id, before[63].id}


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, GARBAGE, TRUNCATED, answer(403, "no")], ids=repr)
@pytest.mark.parametrize(
    ("of", "skip"), [("*/issues/1/comments", 0), ("*/issues/1/comments", 1), ("*/issues/comments/*", 0)]
)
async def test_where_not_all_could_be_asked_nothing_is_taken_for_deleted(
    desk: Any, trouble: Any, of: str, skip: int
) -> None:
    pull = await watched(desk)
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(130)]
    await desk.poll()
    desk.hub.delete(comments[70])
    desk.hub.before_next(trouble, on=f"GET {of}", skip=skip)
    desk.requests()

    told = [event.supersedes for event in await found_deleted(desk)]

    assert told == [f"github:issuecomment-{comments[70].id}"]
    assert (
        len([asked for asked in desk.requests() if "/issues/1/comments" in asked or "/issues/comments/" in asked]) > 3
    )


async def test_nothing_is_taken_for_deleted_where_the_pull_request_is_lost_from_sight_meanwhile(desk: Any) -> None:
    pull = await watched(desk)
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(3)]
    await desk.poll()
    desk.hub.delete(comments[0])
    kept = desk.hub.world.comments_of(pull)
    own = f"GET */issues/{pull.number}/comments"
    desk.hub.before_next(lambda: [desk.hub.world.comments.pop(each.id) for each in kept], on=own)
    desk.hub.after_next(lambda: desk.hub.world.comments.update({each.id: each for each in kept}), on=own)
    desk.hub.after_next(lambda: desk.hub.before_next(answer(404, "Not Found"), times=4), on=own)

    assert [event.supersedes for event in await found_deleted(desk)] == [f"github:issuecomment-{comments[0].id}"]


async def test_a_list_that_is_behind_deletes_nothing(desk: Any) -> None:
    """What the list of all comments told of may be missing for a moment in the pull request's own."""
    pull = await watched(desk)
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(3)]
    await desk.poll()
    desk.hub.delete(comments[0])
    kept = desk.hub.world.comments_of(pull)
    own = f"GET */issues/{pull.number}/comments"
    desk.hub.before_next(lambda: [desk.hub.world.comments.pop(each.id) for each in kept], on=own)
    desk.hub.after_next(lambda: desk.hub.world.comments.update({each.id: each for each in kept}), on=own)

    assert [event.supersedes for event in await found_deleted(desk)] == [f"github:issuecomment-{comments[0].id}"]


async def test_what_is_forgotten_is_not_taken_for_deleted(desk: Any) -> None:
    pull = await watched(desk)
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(5)]
    await desk.poll()
    for comment in comments[:3]:
        desk.state["posts"].pop(f"issuecomment-{comment.id}")
    desk.hub.delete(comments[0])
    desk.hub.delete(comments[4])

    assert [event.supersedes for event in await found_deleted(desk)] == [f"github:issuecomment-{comments[4].id}"]


async def test_more_deletions_than_one_poll_looks_into_are_all_told(new_desk: NewDesk) -> None:
    desk = new_desk(rules=NONE)
    pull = await watched(desk)
    comments = [desk.hub.comment(pull, "ann", str(number)) for number in range(70)]
    await desk.poll()
    for comment in comments:
        desk.hub.delete(comment)

    assert len({event.supersedes for event in await found_deleted(desk)}) == 70


async def test_nothing_is_deleted_on_a_pull_request_that_is_gone(desk: Any) -> None:
    pull = await watched(desk)
    comment = desk.hub.comment(pull, "ann", "one")
    await desk.poll()
    desk.hub.delete(comment)
    desk.hub.before_next(lambda: desk.hub.delete(pull), on=f"GET */issues/{pull.number}/comments")

    assert types([event for _ in range(12) for event in await desk.poll()]) == ["pr_closed"]


@pytest.mark.parametrize("payload", [Comment("Done."), React("eyes")], ids=["answer", "reaction"])
async def test_a_comment_that_prloom_meets_no_more_is_missed_by_the_next_poll(desk: Any, payload: Any) -> None:
    pulls = [desk.hub.pull() for _ in range(12)]
    roots = [desk.hub.inline(pull, "ann", "why?") for pull in pulls]
    desk.track(*pulls)
    said = await desk.poll()
    for event, root in zip(said[:3], roots[:3], strict=True):
        desk.hub.delete(root)
        await desk.act(event.reply_to, payload)

    assert [event.supersedes for event in await found_deleted(desk, polls=1)] == [event.id for event in said[:3]]


# ---- many


async def test_all_pages_are_read_and_the_oldest_comes_first(desk: Any) -> None:
    pull = await watched(desk)
    for number in range(250):
        desk.hub.comment(pull, "ann", str(number))
        desk.clock.advance(seconds=1)

    events, more = await desk.poll(), await desk.poll()

    assert bodies(events) == [str(number) for number in range(250)]
    assert more == []


async def test_more_comments_of_one_second_than_a_page_holds_are_all_read(desk: Any) -> None:
    pull = await watched(desk)
    for number in range(250):
        desk.hub.comment(pull, "ann", str(number))

    events, more = await desk.poll(), await desk.poll()
    desk.hub.comment(pull, "ann", "last")

    assert sorted(bodies(events), key=int) == [str(number) for number in range(250)]
    assert (more, bodies(await desk.poll())) == ([], ["last"])


@pytest.mark.parametrize("count", [51, 99, 100, 101, 250])
async def test_after_a_burst_of_comments_an_idle_poll_is_free_again(desk: Any, count: int) -> None:
    pull = await watched(desk)
    desk.hub.review(pull, "ann", "COMMENTED", comments=[("src/engine.py", 7, f"remark {n}") for n in range(count)])
    heard = [event for _ in range(8) for event in await desk.poll()]
    before = desk.client.count.charged

    assert [await desk.poll() for _ in range(3)] == [[], [], []]
    assert sorted(bodies(heard)) == sorted(f"remark {number}" for number in range(count))
    assert desk.client.count.charged == before


@pytest.mark.parametrize("first", [0, 60])
@pytest.mark.parametrize("count", [50, 99, 100, 101, 200])
async def test_what_comes_after_a_page_that_was_just_full_is_seen(desk: Any, count: int, first: int) -> None:
    pull = await watched(desk)
    for number in range(count):
        desk.hub.inline(pull, "ann", f"remark {number}")
        if number == first:
            await desk.poll(seconds=0)
    await desk.poll(seconds=0)
    desk.hub.inline(pull, "ann", "one more")
    desk.hub.inline(pull, "ann", "and another")

    assert bodies(await desk.poll(seconds=0)) == ["one more", "and another"]


@pytest.mark.parametrize("count", [99, 100, 101])
async def test_a_review_after_a_full_page_of_reviews_is_seen(desk: Any, count: int) -> None:
    pull = await watched(desk)
    for number in range(count):
        desk.hub.review(pull, "ann", "COMMENTED", f"review {number}")
    assert len(await desk.poll()) == count
    await desk.poll(minutes=2)
    desk.hub.review(pull, "ann", "COMMENTED", "one more")

    assert bodies(await desk.poll()) == ["one more"]


async def happens(desk: Any, pull: Any, what: str) -> None:
    match what:
        case "pr_comment":
            desk.hub.comment(pull, "ann", "just then")
        case "pr_review_comment":
            desk.hub.inline(pull, "ann", "just then")
        case "pr_review":
            desk.hub.review(pull, "ann", "COMMENTED", "just then")
        case "pr_pushed":
            desk.hub.push(pull)
        case "pr_closed":
            desk.hub.close(pull)
        case "pr_merged":
            desk.hub.merge(pull)


AT_ONCE = ["pr_comment", "pr_review_comment", "pr_review", "pr_pushed", "pr_closed", "pr_merged"]


@pytest.mark.parametrize("what", AT_ONCE)
async def test_what_happens_right_after_a_look_within_the_same_second_is_seen(desk: Any, what: str) -> None:
    pull = await watched(desk)
    desk.clock.advance(minutes=5)
    desk.hub.comment(pull, "ann", "first")
    assert bodies(await desk.poll(seconds=0)) == ["first"]
    await happens(desk, pull, what)

    assert types([event for _ in range(3) for event in await desk.poll()]) == [what]


@pytest.mark.parametrize("what", AT_ONCE)
async def test_what_happens_right_after_the_first_look_within_the_same_second_is_seen(desk: Any, what: str) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    await desk.poll(seconds=0)
    await happens(desk, pull, what)

    assert types([event for _ in range(3) for event in await desk.poll()]) == [what]


async def test_an_edit_while_pages_are_turned_hides_nothing(desk: Any) -> None:
    pull = await watched(desk)
    comments = []
    for number in range(150):
        comments.append(desk.hub.comment(pull, "ann", str(number)))
        desk.clock.advance(seconds=10)
    page = "GET */repos/ada/engine/issues/comments"
    desk.hub.after_next(lambda: desk.hub.edit(comments[5], "edited"), on=page)

    seen = [*bodies(await desk.poll()), *bodies(await desk.poll())]

    assert {str(number) for number in range(150)} | {"edited"} == set(seen)
    assert len(seen) == 151


async def test_a_comment_that_shows_up_late_is_not_missed(desk: Any) -> None:
    pull = await watched(desk)
    for number in range(120):
        desk.hub.comment(pull, "ann", str(number))
    await desk.poll()
    desk.hub.comment(pull, "ann", "late", late=timedelta(minutes=2))

    assert bodies(await desk.poll()) == ["late"]


async def test_many_reviews_are_all_read(desk: Any) -> None:
    pull = desk.hub.pull()
    for number in range(130):
        desk.hub.review(pull, "ann", "COMMENTED", str(number))
    desk.track(pull)
    first = await desk.poll()
    desk.hub.review(pull, "ann", "COMMENTED", "last")

    assert len(first) == 130
    assert bodies(await desk.poll()) == ["last"]


# ---- what becomes of a pull request


async def test_what_is_heard_says_which_commit_was_the_head_by_then(desk: Any) -> None:
    pull = await watched(desk)
    before = pull.head.sha
    desk.hub.comment(pull, "ann", "merge it")
    (comment,) = await desk.poll()
    review = desk.hub.review(pull, "ann", "APPROVED")
    after = desk.hub.push(pull)

    approval = next(event for event in await desk.poll() if event.type == "pr_review")

    assert comment.context["head"] == before
    assert (approval.context["commit"], approval.context["head"], review.commit) == (before, after, before)


async def test_each_poll_tells_the_heads_of_all_pull_requests(desk: Any) -> None:
    pulls = [await watched(desk) for _ in range(2)]
    desk.clock.advance(minutes=1)

    polled = await desk.bridge.events(desk.context(), desk.state)

    assert polled.heads == {pull.number: pull.head.sha for pull in pulls}


async def test_a_push_is_told_once(desk: Any) -> None:
    pull = await watched(desk)
    before = pull.head.sha
    after = desk.hub.push(pull)

    (event,) = await desk.poll()

    assert (event.type, event.context) == (
        "pr_pushed",
        {"commit": after, "before": before, "head": after, "checks": event.context["checks"]},
    )
    assert event.author is None
    assert await desk.poll() == []


async def test_closed_and_reopened_and_merged_are_told_once_each(desk: Any) -> None:
    pull = await watched(desk)
    told = []
    for happens in (desk.hub.close, desk.hub.reopen, desk.hub.merge):
        happens(pull)
        told.append(types(await desk.poll()))
        told.append(types(await desk.poll()))

    assert told == [["pr_closed"], [], ["pr_reopened"], [], ["pr_merged"], []]


async def test_one_that_has_ended_before_says_so_at_first_sight(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.hub.merge(pull)
    desk.track(pull)

    assert types(await desk.poll()) == ["pr_merged"]


async def test_one_that_is_gone_is_closed(desk: Any) -> None:
    pull = await watched(desk)
    other = await watched(desk)
    desk.hub.delete(pull)
    told = []
    for _ in range(20):
        told += await desk.poll()

    assert [(event.type, event.pr) for event in told] == [("pr_closed", pull.number)]
    assert types(await desk.poll()) == []
    desk.hub.comment(other, "ann", "still here")
    assert bodies(await desk.poll()) == ["still here"]


async def test_410_is_as_good_as_404(desk: Any) -> None:
    await watched(desk)
    desk.hub.before_next(answer(410, "This was deleted"), on="GET */pulls/1", times=2)

    assert types([event for _ in range(8) for event in await desk.poll()]) == ["pr_closed"]


@pytest.mark.parametrize("of", ["*/pulls/1", "*/pulls/1/reviews"])
async def test_one_that_is_there_again_when_it_is_asked_for_a_second_time_is_not_closed(desk: Any, of: str) -> None:
    pull = await watched(desk)
    desk.hub.review(pull, "ann", "COMMENTED", "one")
    desk.hub.before_next(answer(404, "Not Found"), on=f"GET {of}")
    told = [event for _ in range(20) for event in await desk.poll()]
    desk.hub.before_next(answer(404, "Not Found"), on=f"GET {of}")
    desk.hub.review(pull, "ann", "COMMENTED", "two")
    told += [event for _ in range(20) for event in await desk.poll()]

    assert bodies(told) == ["one", "two"]
    assert types(told) == ["pr_review"] * 2


@pytest.mark.parametrize("first", [True, False])
async def test_nothing_is_closed_where_the_repository_is_lost_from_sight_within_a_poll(
    desk: Any, *, first: bool
) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    if not first:
        await desk.poll()
        desk.hub.review(pull, "ann", "COMMENTED", "one")
    desk.hub.before_next(answer(404, "Not Found"), skip=3, times=100)
    told = await desk.poll()
    for _ in range(3):
        with pytest.raises(HttpError, match="GitHub shows no repository"):
            await desk.poll()

    assert told == []


@pytest.mark.parametrize("status", [401, 403, 451, 500, 502, 503])
@pytest.mark.parametrize("of", ["*/pulls/1", "*/pulls/1/reviews", "*/check-runs"])
async def test_whatever_else_github_answers_closes_nothing(desk: Any, status: int, of: str) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    desk.hub.before_next(answer(status, "no"), on=f"GET {of}", times=5)
    told = []
    for _ in range(12):
        try:
            told += await desk.poll()
        except HttpError:
            continue

    assert types(told) == ["pr_comment"]


async def test_nothing_is_closed_where_the_whole_repository_cannot_be_seen(desk: Any) -> None:
    await watched(desk)
    desk.hub.before_next(answer(404, "Not Found"), times=50)

    with pytest.raises(HttpError, match="GitHub shows no repository ada/engine to this token"):
        await desk.poll()


async def test_a_conflict_is_told_once_and_again_when_there_is_a_new_one(desk: Any) -> None:
    pull = await watched(desk)
    told = []
    for there in (True, False, True):
        desk.hub.conflict(pull, there=there)
        desk.clock.advance(minutes=1)
        desk.hub.branch("main")
        told.append([kind for _ in range(4) for kind in types(await desk.poll())])

    assert told == [["merge_conflict"], [], ["merge_conflict"]]


async def test_a_conflict_that_stays_is_not_told_again_when_the_base_moves_on(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.conflict(pull)
    told = []
    for _ in range(3):
        desk.clock.advance(minutes=1)
        pull.base.sha = desk.hub.branch("main")
        told += [kind for _ in range(3) for kind in types(await desk.poll())]

    assert told == ["merge_conflict"]


async def test_a_conflict_of_which_no_push_tells_is_found_in_its_turn(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.conflict(pull)

    told = [event for _ in range(12) for event in await desk.poll()]

    assert types(told) == ["merge_conflict"]
    assert (told[0].severity, told[0].context["base"], told[0].title) == ("warning", "main", "conflicts with main")


@pytest.mark.parametrize("surface", ["comment", "inline"])
async def test_a_bots_edit_is_no_news_where_its_post_is_remembered_no_longer(desk: Any, surface: str) -> None:
    """Beyond 2,000 posts the oldest are forgotten; what prloom knows for ever is the ids of events."""
    pull = await watched(desk)
    desk.hub.bot("coverage")
    post = getattr(desk.hub, surface)(pull, "coverage", "80 %")
    desk.clock.advance(minutes=1)
    desk.hub.edit(post, "81 %")
    first = await desk.poll()
    for percent in (82, 83):
        desk.state["posts"] = {}
        desk.hub.edit(post, f"{percent} %")
        again = await desk.poll()

        assert [event.id for event in again] == [event.id for event in first]
    assert first[0].context["updatedAt"] == "2026-01-01T12:02:10Z"


# ---- clocks


WRONG = [timedelta(hours=hours) for hours in (2, 8, -2, -8)]


@pytest.mark.parametrize("ahead", WRONG, ids=str)
@pytest.mark.parametrize("date", [True, False])
async def test_p1_no_comment_is_lost_by_a_clock_that_is_wrong(
    new_desk: NewDesk, ahead: timedelta, *, date: bool
) -> None:
    desk = new_desk(ahead=ahead)
    desk.hub.world.tells_time = date
    pull = await watched(desk)
    said, heard = [], []
    for number in range(40):
        said.append(desk.hub.comment(pull, "ann", f"comment {number}").body)
        said.append(desk.hub.inline(pull, "ann", f"line {number}").body)
        heard += [event.body for event in await desk.poll(minutes=15)]

    assert sorted(heard) == sorted(said)


async def test_p1_what_a_feed_that_begins_in_a_time_to_come_has_missed_is_read_and_nothing_is_heard_twice(
    new_desk: NewDesk,
) -> None:
    """As an older prloom began it, by a clock that was ahead."""
    desk = new_desk()
    pull = await watched(desk)
    heard = desk.hub.comment(pull, "ann", "heard")
    await desk.poll()
    desk.hub.edit(heard, "heard, and edited")
    await desk.poll()
    desk.hub.comment(pull, "ann", "missed")
    for feed in ("comments", "inline"):
        desk.state[feed] = {"since": "2026-01-01T19:00:00Z"}

    missed, after = await desk.poll(), await desk.poll()

    assert (bodies(missed), bodies(after)) == (["missed"], [])
    assert desk.state["comments"]["since"] < "2026-01-01T13"


async def test_a_poll_says_what_time_it_is_at_github(new_desk: NewDesk) -> None:
    desk = new_desk(ahead=timedelta(hours=8))
    desk.track(desk.hub.pull())

    polled = await desk.bridge.events(desk.context(), None)

    assert polled.now == desk.hub.clock()


# ---- checks


@pytest.mark.parametrize("conclusion", ["failure", "timed_out"])
async def test_a_check_that_fails_is_told_with_the_end_of_its_log(desk: Any, conclusion: str) -> None:
    pull = await watched(desk)
    log = "\n".join([*(f"line {number}" for number in range(500)), "##[error]1 failed", "Post job cleanup."])
    desk.hub.check(pull, "tests", conclusion, log=log)

    (event,) = [event for _ in range(4) for event in await desk.poll()]

    assert (event.type, event.severity, event.context["check"]) == ("check_failed", "error", "tests")
    assert event.body.splitlines()[-2:] == ["line 499", "##[error]1 failed"]
    assert len(event.body.splitlines()) == 150
    assert event.context["checks"]["running"] == 0
    assert [event for _ in range(6) for event in await desk.poll()] == []


async def test_a_check_that_passes_is_no_event(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.check(pull, "tests", "success")

    assert [event for _ in range(6) for event in await desk.poll()] == []


async def test_a_check_that_runs_is_looked_at_until_it_ends(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.push(pull)
    check = desk.hub.check(pull, "tests", None, app="circleci")
    await desk.poll()
    desk.hub.comment(pull, "ann", "hm")
    (meanwhile,) = await desk.poll()
    desk.hub.finish(check, "failure", log="no")

    (failed,) = await desk.poll()

    assert meanwhile.context["checks"] == {
        "running": 1,
        "commit": pull.head.sha,
        "at": meanwhile.context["checks"]["at"],
    }
    assert (failed.type, failed.context["checks"]["running"]) == ("check_failed", 0)


async def test_a_check_that_runs_long_and_says_nothing_is_looked_at_until_it_ends(desk: Any) -> None:
    pull = await watched(desk)
    others = [desk.hub.pull() for _ in range(20)]
    desk.track(*others)
    desk.hub.push(pull)
    check = desk.hub.check(pull, "tests", None, app="circleci")
    await desk.poll()
    for _ in range(30):
        await desk.poll(minutes=10)
    desk.hub.finish(check, "failure", log="no")

    assert types(await desk.poll()) == ["check_failed"]


async def test_a_check_that_never_ends_is_left_to_its_turn_in_the_end(new_desk: NewDesk) -> None:
    """Some statuses are pending for ever: a poll of which nothing comes must be free again."""
    desk = new_desk(rules=NONE)
    pull = await watched(desk)
    desk.hub.push(pull)
    desk.hub.status(pull, "license", "pending")
    await desk.poll()
    for _ in range(40):
        await desk.poll(minutes=10)
    desk.requests()
    before = desk.client.count.charged
    for _ in range(10):
        await desk.poll()

    assert (len(desk.requests()), desk.client.count.charged) == (40, before)


async def test_a_status_that_fails_is_told_as_a_check_is(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.push(pull)
    desk.hub.status(pull, "ci/jenkins", "failure", "2 tests failed")

    event = next(event for event in await desk.poll() if event.type == "check_failed")

    assert (event.title, event.body) == ("ci/jenkins failed (failure)", "2 tests failed")


async def test_a_check_that_fails_again_is_told_again(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.push(pull)
    desk.hub.check(pull, "tests", "failure", log="one")
    await desk.poll()
    desk.hub.check(pull, "tests", "failure", log="two")

    assert bodies([event for _ in range(3) for event in await desk.poll()]) == ["two"]


async def test_a_check_that_was_told_is_not_told_again_when_another_ends(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.push(pull)
    desk.hub.check(pull, "lint", "failure", log="one")
    running = desk.hub.check(pull, "tests", None)
    first = await desk.poll()
    desk.hub.finish(running, "failure", log="two")

    second = await desk.poll()

    assert (bodies(first)[1:], bodies(second)) == (["one"], ["two"])


async def test_checks_that_begin_to_change_are_looked_at_in_each_poll(desk: Any) -> None:
    pulls = [await watched(desk) for _ in range(3)]
    desk.hub.status(pulls[1], "nightly", "success")
    for _ in range(8 * 3):
        await desk.poll()
    desk.hub.status(pulls[1], "nightly", "failure", "broken")

    assert bodies(await desk.poll()) == ["broken"]


async def test_a_check_that_fails_long_after_the_push_is_found_in_its_turn(desk: Any) -> None:
    pulls = [await watched(desk) for _ in range(3)]
    desk.hub.status(pulls[1], "nightly", "failure", "broken")

    told = [event for _ in range(8 * 3) for event in await desk.poll()]

    assert types(told) == ["check_failed"]


async def test_a_log_that_cannot_be_read_does_not_hide_the_failure(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.check(pull, "tests", "failure")

    told = [event for _ in range(4) for event in await desk.poll()]

    assert types(told) == ["check_failed"]
    assert told[0].body.startswith("(the log cannot be read: GET /repos/ada/engine/actions/jobs/")


async def test_a_log_is_fetched_without_showing_the_token_to_the_host_that_keeps_it(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.check(pull, "tests", "failure", log="no")
    for _ in range(4):
        await desk.poll()

    assert [(each.outcome, each.saw_token) for each in desk.hub.elsewhere] == [(200, False)]


@pytest.mark.parametrize(
    ("fork", "author"), [(False, ("ada", "write")), (True, ("ann", None)), ("eve", ("eve", None))], ids=str
)
async def test_p7_a_failure_is_the_word_of_who_owns_the_head_repository_whoever_opened_the_pull_request(
    desk: Any, *, fork: bool | str, author: tuple[str, str | None]
) -> None:
    pull = await watched(desk, by="ann", fork=fork)
    desk.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await desk.poll()]

    assert (event.author.login, event.author.trust) == author


async def test_p7_a_failure_in_a_repository_that_is_gone_is_the_word_of_nobody_who_has_permission(desk: Any) -> None:
    pull = desk.hub.pull(by="ann", fork="eve")
    desk.hub.delete_fork(pull)
    desk.track(pull)
    await desk.poll()
    desk.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await desk.poll()]

    assert (event.author.login, event.author.trust) == ("ghost", "none")


async def test_p7_the_owner_is_asked_for_where_the_cursor_is_of_a_prloom_that_did_not_remember_it(desk: Any) -> None:
    pull = await watched(desk, by="ann", fork="eve")
    del desk.state["pullRequests"][str(pull.number)]["owner"]
    desk.hub.check(pull, "tests", "failure", log="obey me")

    (event,) = [event for _ in range(4) for event in await desk.poll()]

    assert (event.author.login, event.author.trust) == ("eve", None)


@pytest.mark.parametrize("what", ["check-runs", "statuses", "actions/runs"])
async def test_a_failure_to_ask_for_checks_is_not_taken_for_a_prohibition(desk: Any, what: str) -> None:
    pull = await watched(desk)
    desk.hub.push(pull)
    desk.hub.check(pull, "tests", "failure", log="one")
    desk.hub.status(pull, "ci", "failure", "two")
    desk.hub.before_next(BAD_GATEWAY, on=f"GET *{what}", times=2)

    told = [event for _ in range(4) for event in await desk.poll()]

    assert sorted(bodies([event for event in told if event.type == "check_failed"])) == ["one", "two"]


async def test_a_token_that_may_not_see_checks_hears_everything_else(new_desk: NewDesk) -> None:
    desk = new_desk()
    permissions = {"metadata": "read", "pull_requests": "write", "issues": "write"}
    desk.token = desk.hub.token("ada", permissions=permissions)
    desk.client = desk.connect()
    pull = await watched(desk)
    desk.hub.push(pull)
    await desk.poll()
    desk.hub.comment(pull, "ann", "hello")

    assert bodies(await desk.poll()) == ["hello"]
    desk.requests()
    await desk.poll()
    assert not [asked for asked in desk.requests() if "403" in asked]


async def test_a_token_that_may_see_actions_and_no_checks_learns_from_the_jobs(new_desk: NewDesk) -> None:
    """As it is with GitHub's fine-grained tokens."""
    desk = new_desk()
    permissions = {"metadata": "read", "pull_requests": "write", "issues": "write", "actions": "read"}
    desk.token = desk.hub.token("ada", permissions=permissions)
    desk.client = desk.connect()
    pull = await watched(desk)
    check = desk.hub.check(pull, "tests", None)
    for _ in range(3):
        assert await desk.poll() == []
    desk.hub.finish(check, "failure", log="##[error]no")

    told = [event for _ in range(6) for event in await desk.poll()]

    assert [(event.id, event.title, event.body) for event in told] == [
        (f"github:check-{check.id}@2026-01-01T12:04:10Z", "tests failed (failure)", "##[error]no")
    ]


# ---- what goes wrong


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, GARBAGE, TRUNCATED, answer(500)], ids=repr)
@pytest.mark.parametrize("skip", range(3))
async def test_where_a_list_fails_nothing_is_taken_as_read(desk: Any, trouble: Any, skip: int) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    desk.hub.inline(pull, "ann", "two")
    desk.hub.review(pull, "ann", "COMMENTED", "three")
    desk.hub.before_next(trouble, skip=skip)

    with pytest.raises(HttpError):
        await desk.poll()

    assert sorted(bodies(await desk.poll())) == ["one", "three", "two"]


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, GARBAGE, answer(403, "no")], ids=repr)
@pytest.mark.parametrize("skip", range(3, 10))
async def test_what_could_not_be_asked_for_one_pull_request_is_asked_again(desk: Any, trouble: Any, skip: int) -> None:
    """The first look at two pull requests takes some requests each; one of them fails."""
    pulls = [desk.hub.pull(), desk.hub.pull()]
    for pull in pulls:
        desk.hub.comment(pull, "ann", "one")
        desk.hub.review(pull, "ann", "COMMENTED", "two")
    desk.track(*pulls)
    desk.hub.before_next(trouble, skip=skip)

    told = [event for _ in range(3) for event in await desk.poll()]

    assert sorted({event.id: event.body for event in told}.values()) == ["one", "one", "two", "two"]


async def test_a_review_that_could_not_be_read_is_read_by_the_next_poll(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.review(pull, "ann", "COMMENTED", "my view")
    desk.hub.before_next(BAD_GATEWAY, on="GET */reviews")

    assert (bodies(await desk.poll()), bodies(await desk.poll())) == ([], ["my view"])


async def test_a_token_that_is_not_accepted_is_said_in_one_clear_line(desk: Any) -> None:
    await watched(desk)
    desk.hub.revoke(desk.token)

    with pytest.raises(HttpError) as caught:
        await desk.poll()

    assert str(caught.value) == (
        "GitHub does not accept the token (401); write another into the file that GITHUB_TOKEN_FILE names, or run "
        "`gh auth login`, or set GITHUB_TOKEN and start prloom again (GET /repos/ada/engine/pulls: 401)"
    )


async def test_a_limit_is_waited_for_and_nothing_is_lost(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    desk.hub.slow_down("ada", timedelta(minutes=10))
    asked = []
    for _ in range(9):
        with pytest.raises(HttpError):
            await desk.poll()
        asked.append(len(desk.requests()))

    assert sum(asked[1:]) == 0
    assert bodies([event for _ in range(4) for event in await desk.poll()]) == ["one"]


async def test_a_cursor_that_nobody_can_read_costs_a_poll_and_no_second_answer(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.comment(pull, "ann", "one")
    before = [event.id for event in await desk.poll()]
    for state in ({"comments": 7}, [], "x", {"pullRequests": {"x": 1}}):
        desk.state = state

        assert [event.id for event in await desk.poll()] == before


async def test_a_repository_that_was_renamed_is_read_by_its_new_name_from_then_on(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.rename("motor")
    desk.hub.comment(pull, "ann", "one")
    first = await desk.poll()
    desk.requests()
    await desk.poll()
    await desk.say(first[0].reply_to)

    assert bodies(first) == ["one"]
    assert {asked.split(" ")[1].split("/")[3] for asked in desk.requests()} == {"motor"}


async def test_that_a_repository_was_renamed_is_said_until_it_is_configured(desk: Any) -> None:
    await watched(desk)
    first = await desk.bridge.events(desk.context(), desk.state)
    desk.hub.rename("motor")
    second = await desk.bridge.events(desk.context(), first.state)
    third = await desk.bridge.events(desk.context(), second.state)

    (warning,) = third.warnings
    assert [first.warnings, second.warnings] == [(), (warning,)]
    assert warning == (
        'ada/engine was renamed to ada/motor; set `repo = "ada/motor"` in [bridges.github], '
        "or change the address of `origin`"
    )


async def test_a_repository_that_has_its_old_name_again_is_found_by_it(desk: Any) -> None:
    pull = await watched(desk)
    desk.hub.rename("motor")
    await desk.poll()
    desk.hub.rename("engine")
    desk.hub.world.old_names.clear()
    desk.hub.comment(pull, "ann", "one")

    assert bodies(await desk.poll()) == ["one"]
    desk.requests()
    await desk.poll()
    assert {asked.split(" ")[1].split("/")[3] for asked in desk.requests()} == {"engine"}


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
async def test_a_poll_that_fails_says_so_in_githubs_words(desk: Any, trouble: Any, error: str) -> None:
    await watched(desk)
    desk.hub.before_next(trouble)

    with pytest.raises(HttpError) as raised:
        await desk.poll()

    assert str(raised.value) == error


async def test_a_server_below_a_base_path_is_read_as_well(new_desk: NewDesk) -> None:
    desk = new_desk(api_url="https://ghe.example/base/api/v3", web_url="https://ghe.example/base")
    pull = await watched(desk)
    for number in range(120):
        desk.hub.comment(pull, "ann", str(number))

    assert len(await desk.poll()) == 120


# ---- money


@pytest.mark.parametrize("count", [1, 300])
async def test_an_idle_poll_costs_four_requests_for_any_number_of_pull_requests_and_none_is_charged(
    new_desk: NewDesk, count: int
) -> None:
    desk = new_desk()
    desk.track(*(desk.hub.pull() for _ in range(count)))
    for _ in range(20):
        await desk.poll()
    desk.requests()
    charged, costs = desk.hub.charged, []
    for _ in range(50):
        before = desk.client.count.charged
        assert await desk.poll() == []
        assert desk.client.count.charged == before
        costs.append(len(desk.requests()))

    assert (set(costs), desk.hub.charged - charged) == ({4}, 0)
    assert not desk.hub.complaints


async def test_one_new_comment_costs_one_request_that_is_charged_and_its_pull_requests_reviews(
    new_desk: NewDesk,
) -> None:
    desk = new_desk(rules=NONE)
    pulls = [desk.hub.pull() for _ in range(50)]
    desk.track(*pulls)
    for _ in range(3):
        await desk.poll()
    desk.requests()
    desk.hub.comment(pulls[7], "ann", "hello")
    before = desk.client.count.charged
    await desk.poll()

    assert (len(desk.requests()), desk.client.count.charged - before) == (5, 2)
    before = desk.client.count.charged
    await desk.poll()
    assert (len(desk.requests()), desk.client.count.charged - before) == (4, 0)


async def test_a_change_without_words_costs_two_requests_more_and_two_that_are_charged(new_desk: NewDesk) -> None:
    desk = new_desk(rules=NONE)
    pulls = [desk.hub.pull() for _ in range(50)]
    desk.track(*pulls)
    for _ in range(3):
        await desk.poll()
    desk.requests()
    desk.hub.label(pulls[7], "bug")
    before = desk.client.count.charged

    assert await desk.poll() == []
    assert (len(desk.requests()), desk.client.count.charged - before) == (6, 2)


async def test_a_push_to_a_branch_that_is_no_base_is_not_looked_into(new_desk: NewDesk) -> None:
    desk = new_desk(rules=NONE)
    pulls = [desk.hub.pull() for _ in range(50)]
    desk.track(*pulls)
    for _ in range(3):
        await desk.poll()
    desk.hub.branch("other")
    desk.hub.comment(pulls[0], "ann", "hm")
    await desk.poll()
    desk.requests()
    desk.clock.advance(minutes=1)
    desk.hub.branch("other")
    desk.hub.comment(pulls[0], "ann", "hm")
    await desk.poll()
    there = desk.requests()
    desk.hub.branch("main")
    desk.hub.comment(pulls[0], "ann", "hm")
    await desk.poll()

    asked = "GET /repos/ada/engine/pulls/"
    assert len([each for each in there if each.startswith(asked) and "reviews" not in each]) <= 2
    assert len([each for each in desk.requests() if each.startswith(asked)]) >= 10


async def test_a_token_that_may_not_see_branches_is_refused_that_once_in_six_hours(new_desk: NewDesk) -> None:
    desk = new_desk(rules=NONE)
    desk.token = desk.hub.token("ada", permissions={"metadata": "read", "pull_requests": "write"})
    desk.client = desk.connect()
    pull = await watched(desk)
    desk.hub.conflict(pull)
    told = []
    for _ in range(5):
        desk.hub.branch("main")
        desk.hub.comment(pull, "ann", "hm")
        told += await desk.poll(minutes=30)

    assert len([asked for asked in desk.requests() if "/branches/main -> 403" in asked]) == 1
    assert "merge_conflict" in types(told)


async def test_a_token_that_is_revoked_meanwhile_ends_the_poll(new_desk: NewDesk) -> None:
    desk = new_desk(rules=NONE)
    desk.track(*(desk.hub.pull() for _ in range(50)))
    desk.hub.before_next(answer(401), skip=6, times=400)

    await desk.poll()

    assert len(desk.requests()) == 7
