"""What prloom says and does on GitHub: each once, in its place, whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, GARBAGE, NONE, RESET, TIMEOUT, TRUNCATED, FileDiff, answer, blocked, needs_sso

from prloom.api import (
    AddLabels,
    AssignUsers,
    ClosePr,
    Comment,
    Delivered,
    Event,
    InlineComment,
    Merge,
    React,
    Refused,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
    Target,
    UpsertPlan,
    marked,
    marker,
)
from prloom.core.delivery.outbox import action_id
from prloom.core.events import admission
from prloom.model.state import Receipt

NewRuntime = Callable[..., Any]
ID = action_id("an-event", "test", 0)


@pytest.fixture
def pull(runtime: Any) -> Any:
    """A pull request that is looked after."""
    made = runtime.hub.pull()
    runtime.track(made)
    return made


async def heard(runtime: Any) -> Event:
    """Return the event that the next poll gives."""
    (event,) = await runtime.poll()
    return event


async def in_thread(runtime: Any, pull: Any) -> Event:
    """Let somebody comment on a line, and return that event."""
    runtime.hub.inline(pull, "ann", "why?")
    return await heard(runtime)


def said(runtime: Any) -> list[str]:
    """Return what prloom posted, without the marks; the reviews that only carry a reply are left out."""
    texts = [post.body for post in runtime.hub.posts("ada")]
    return [text.partition("-->\n\n")[2] for text in texts if text]


def own(runtime: Any, event: Event, result: Delivered) -> bool:
    """Whether prloom takes the event for its own post; its account proves nothing."""
    receipts = {ID: Receipt(ID, "2026-01-01T12:00:00Z", result.url, result.remote_id)}
    return admission.is_own_post(
        event, admission.OwnPosts(receipts, frozenset({result.remote_id or ""}), lambda action: action == ID)
    )


# ---- where replies go


async def test_a_reply_to_a_comment_appears_in_the_conversation(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "ann", "please")
    event = await heard(runtime)

    result = await runtime.say(event.reply_to)

    (post,) = runtime.hub.posts("ada")
    assert post.body == f"{marker(ID)}\n\nDone."
    assert result == Delivered(
        f"issuecomment-{post.id}", f"https://github.com/ada/engine/pull/1#issuecomment-{post.id}"
    )


async def test_a_reply_to_a_comment_on_a_line_appears_in_its_thread(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    runtime.hub.reply_in_thread(root, "eve", "indeed")
    events = await runtime.poll()

    result = await runtime.say(events[-1].reply_to)

    (reply,) = [post for post in runtime.hub.posts("ada") if post.body]
    assert (reply.reply_to, reply.thread) == (root.id, root.thread)
    assert result == Delivered(
        f"discussion_r{reply.id}", f"https://github.com/ada/engine/pull/1#discussion_r{reply.id}"
    )


@pytest.mark.parametrize("place", ["conversation", "thread"])
async def test_what_is_added_to_a_post_is_in_it_once_whatever_happens(runtime: Any, pull: Any, place: str) -> None:
    target = (await in_thread(runtime, pull)).reply_to if place == "thread" else None
    first = await runtime.say(target, "I will.\n\n*— prloom*")
    added = Comment("Done in 1.\n\n*— prloom*", appends_to=first.remote_id)
    runtime.hub.after_next(BAD_GATEWAY, on="PATCH *")

    lost = await runtime.act(target, added, ordinal=1)
    again = await runtime.act(target, added, ordinal=1, uncertain=True)

    assert lost.unknown
    assert again == first
    (text,) = said(runtime)
    assert text == f"I will.\n\n{marker(action_id('an-event', 'test', 1))}\n\nDone in 1.\n\n*— prloom*"
    assert all(own(runtime, event, first) for event in await runtime.poll())


@pytest.mark.parametrize("why", ["deleted", "full", "of no kind"])
async def test_what_cannot_be_added_to_a_post_is_a_post_of_its_own(runtime: Any, pull: Any, why: str) -> None:
    first = await runtime.say(None, "x" * (65_400 if why == "full" else 1))
    name = "review-5" if why == "of no kind" else first.remote_id
    if why == "deleted":
        runtime.hub.delete(runtime.hub.posts("ada")[0])

    result = await runtime.act(None, Comment("Done." * 30, appends_to=name), ordinal=1)

    assert isinstance(result, Delivered)
    assert result.remote_id != first.remote_id
    assert said(runtime)[-1] == "Done." * 30


@pytest.mark.parametrize("token", [None, {"pr": 1}], ids=str)
async def test_an_action_for_the_plan_appears_in_the_conversation(runtime: Any, pull: Any, token: Any) -> None:
    await runtime.say(Target("github", token))

    assert said(runtime) == ["Done."]


async def test_a_reply_to_a_review_appears_in_the_conversation(runtime: Any, pull: Any) -> None:
    runtime.hub.review(pull, "ann", "CHANGES_REQUESTED", "tests are missing")
    event = await heard(runtime)

    await runtime.say(event.reply_to)

    assert [comment.body for comment in runtime.hub.world.comments.values()] == [f"{marker(ID)}\n\nDone."]


# ---- prloom does not answer itself


async def test_p6_a_reply_in_a_thread_does_not_come_back_and_nor_does_the_review_that_it_makes(
    runtime: Any, pull: Any
) -> None:
    event = await in_thread(runtime, pull)
    result = await runtime.say(event.reply_to)

    back = await runtime.poll()

    assert [(each.type, own(runtime, each, result)) for each in back] == [("pr_review_comment", True)]


async def test_p6_a_review_of_ours_does_not_come_back_and_nor_do_its_comments(runtime: Any, pull: Any) -> None:
    review = Review("comment", "My view.", ({"path": "src/engine.py", "line": 3, "message": "Here."},))
    result = await runtime.act(None, review)

    back = await runtime.poll()

    assert sorted(each.type for each in back) == ["pr_review", "pr_review_comment"]
    assert all(own(runtime, each, result) for each in back)


async def test_what_the_operator_writes_by_hand_is_heard_though_prloom_has_the_same_account(
    runtime: Any, pull: Any
) -> None:
    event = await in_thread(runtime, pull)
    result = await runtime.say(event.reply_to)
    runtime.hub.inline(pull, "ada", "and this?", line=9)
    runtime.hub.comment(pull, "ada", f"> {marker(ID)}\n> Done.\n\nNot quite.")

    back = await runtime.poll()

    assert sorted(each.body[-10:] for each in back if not own(runtime, each, result)) == ["Not quite.", "and this?"]


async def test_who_copies_a_comment_of_our_review_is_heard(runtime: Any, pull: Any) -> None:
    comments = ({"path": "src/engine.py", "line": 3, "message": "Here."},)
    result = await runtime.act(None, Review("comment", "My view.", comments))
    copied = next(post.body for post in runtime.hub.posts("ada") if post.body.endswith("Here."))
    runtime.hub.inline(pull, "eve", copied + "\nobey", line=9)

    back = await runtime.poll()

    assert [each.author.login for each in back if not own(runtime, each, result)] == ["eve"]


# ---- once


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, RESET, TRUNCATED, GARBAGE], ids=repr)
@pytest.mark.parametrize("place", ["conversation", "thread", "line", "review"])
async def test_p3_what_was_posted_though_the_answer_was_lost_is_not_posted_again(
    runtime: Any, pull: Any, trouble: Any, place: str
) -> None:
    event = await in_thread(runtime, pull)
    target = event.reply_to if place == "thread" else None
    payload = {
        "conversation": Comment("Done."),
        "thread": Comment("Done."),
        "line": InlineComment("src/engine.py", 3, "Done."),
        "review": Review("comment", "Done."),
    }[place]
    runtime.hub.after_next(trouble, on="POST *")
    first = await runtime.act(target, payload)
    runtime.clock.advance(minutes=1)

    second = await runtime.act(target, payload, uncertain=True)

    assert isinstance(first, Refused)
    assert (first.retryable, first.unknown) == (True, True)
    assert isinstance(second, Delivered)
    assert said(runtime) == ["Done."]


async def test_p3_what_never_arrived_is_posted_by_the_next_attempt(runtime: Any, pull: Any) -> None:
    runtime.hub.before_next(BAD_GATEWAY, on="POST *")
    first = await runtime.say(None)

    second = await runtime.say(None, uncertain=True)

    assert (first.unknown, isinstance(second, Delivered), said(runtime)) == (True, True, ["Done."])


async def test_p3_an_attempt_is_unsure_until_it_was_searched_for(runtime: Any, pull: Any) -> None:
    """Else a limit that keeps us from looking would let the attempt after it post a second time."""
    runtime.hub.after_next(BAD_GATEWAY, on="POST *")
    await runtime.say(None)
    runtime.hub.slow_down("ada", timedelta(minutes=5))

    second = await runtime.say(None, uncertain=True)

    assert (second.retryable, second.unknown) == (True, True)


async def test_p3_it_is_found_on_any_page(runtime: Any, pull: Any) -> None:
    await runtime.say(None)
    for number in range(230):
        runtime.hub.comment(pull, "ann", str(number))

    result = await runtime.say(None, uncertain=True)

    assert (isinstance(result, Delivered), said(runtime)) == (True, ["Done."])


async def test_where_nothing_is_in_doubt_nothing_is_searched_for(runtime: Any, pull: Any) -> None:
    runtime.requests()
    await runtime.say(None)

    assert runtime.requests() == ["POST /repos/ada/engine/issues/1/comments -> 201"]


async def test_a_quotation_of_the_mark_is_not_the_reply(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "eve", f"> {marker(ID)}\n\nwhat is that?")

    await runtime.say(None, uncertain=True)

    assert said(runtime) == ["Done."]


async def test_p3_a_mark_that_another_account_wrote_is_not_the_reply(runtime: Any, pull: Any) -> None:
    runtime.hub.comment(pull, "eve", f"{marker(ID)}\n\nDone, says eve.")
    runtime.hub.review(pull, "eve", "COMMENTED", f"{marker(ID)}\n\nDone, says eve.")

    await runtime.say(None, uncertain=True)
    await runtime.act(None, Review(verdict="comment", summary="Done."), uncertain=True)

    assert said(runtime) == ["Done.", "Done."]


@pytest.mark.parametrize("kind", ["user", "app"])
async def test_p3_a_post_is_recognised_as_ours_whatever_the_token_is(new_runtime: Any, kind: str) -> None:
    runtime = new_runtime()
    runtime.hub.person("eve", "read")
    if kind == "app":
        runtime.hub.bot("prloom[bot]", "write")
        runtime.token = runtime.hub.token("prloom[bot]", kind="app")
        runtime.client = runtime.connect()
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.comment(pull, "eve", f"{marker(ID)}\n\nDone, says eve.")
    runtime.hub.after_next(TIMEOUT, on="POST *")
    first = await runtime.say(None)

    second = await runtime.say(None, uncertain=first.unknown)

    assert isinstance(second, Delivered)
    assert len(runtime.hub.posts(by="prloom[bot]" if kind == "app" else "ada")) == 1


# ---- drafts


async def test_a_reply_that_went_into_a_draft_is_noticed_and_waits_for_its_end(runtime: Any, pull: Any) -> None:
    event = await in_thread(runtime, pull)
    draft = runtime.hub.review(pull, "ada", "PENDING", "my view")
    first = await runtime.say(event.reply_to)
    second = await runtime.say(event.reply_to, uncertain=True)
    runtime.hub.submit(draft)

    third = await runtime.say(event.reply_to, uncertain=True)

    waits = (
        "your account has a draft review on the pull request, and GitHub put the reply into it; "
        "submit or discard the draft"
    )
    for each in (first, second):
        assert each == Refused(waits, retryable=True, retry_after=timedelta(minutes=5), unknown=True)
    assert isinstance(third, Delivered)
    assert said(runtime).count("Done.") == 1


async def test_a_reply_whose_draft_was_discarded_is_posted_anew(runtime: Any, pull: Any) -> None:
    event = await in_thread(runtime, pull)
    draft = runtime.hub.review(pull, "ada", "PENDING", "my view")
    await runtime.say(event.reply_to)
    runtime.hub.delete(draft)

    result = await runtime.say(event.reply_to, uncertain=True)

    seen = [comment.body[-5:] for comment in runtime.hub.world.visible(pull)]
    assert (isinstance(result, Delivered), seen) == (True, ["why?", "Done."])


@pytest.mark.parametrize("readable", [True, False])
async def test_a_draft_is_noticed_whether_or_not_its_comments_can_be_read(
    runtime: Any, pull: Any, *, readable: bool
) -> None:
    runtime.hub.world.drafts_readable = readable
    event = await in_thread(runtime, pull)
    runtime.hub.review(pull, "ada", "PENDING", "my view")

    assert (await runtime.say(event.reply_to)).unknown


async def test_where_github_refuses_a_comment_beside_a_draft_it_waits(runtime: Any, pull: Any) -> None:
    runtime.hub.world.drafts = "refuse"
    event = await in_thread(runtime, pull)
    runtime.hub.review(pull, "ada", "PENDING", "my view")

    for result in (await runtime.say(event.reply_to), await runtime.act(None, Review("comment", "Mine."))):
        assert (result.retryable, result.unknown) == (True, False)
        assert result.error.startswith("your account has a draft review on the pull request; submit or discard it")


# ---- what is gone


async def test_a_reply_to_a_comment_that_is_gone_appears_in_the_conversation(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    event = await heard(runtime)
    runtime.hub.delete(root)

    result = await runtime.say(event.reply_to)

    assert said(runtime) == ["*(The comment that this answers was deleted.)*\n\nDone."]
    assert result.remote_id.startswith("issuecomment-")


async def test_a_404_where_the_comment_is_there_is_reported_in_githubs_words_and_nothing_is_posted(
    runtime: Any, pull: Any
) -> None:
    event = await in_thread(runtime, pull)
    runtime.hub.before_next(answer(404, "Not Found, or so"), on="POST */replies")

    result = await runtime.say(event.reply_to)

    assert (result.retryable, said(runtime)) == (False, [])
    assert result.error.startswith(
        "it is no longer on GitHub, or the token has no access to it: POST /repos/ada/engine/pulls/1"
    )
    assert result.error.endswith(": 404: Not Found, or so")


async def test_a_reply_that_the_thread_does_not_take_appears_in_the_conversation(runtime: Any, pull: Any) -> None:
    event = await in_thread(runtime, pull)
    runtime.hub.before_next(answer(422, "Validation Failed"), on="POST */replies")

    await runtime.say(event.reply_to)

    assert said(runtime) == ["*(GitHub does not accept replies in the thread that this answers.)*\n\nDone."]


SSO = "https://github.com/orgs/acme/sso?authorization_request=A1B2"
NOTICE = "https://github.com/github/dmca/blob/master/2026/01/engine.md"


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (
            needs_sso(SSO),
            (
                "GitHub does not allow it: Resource protected by organization SAML enforcement. You must grant your "
                f"Personal Access token access. Authorize the token for single sign-on: {SSO}"
            ),
        ),
        (blocked(NOTICE), f"GitHub does not allow it: Repository access blocked (dmca: {NOTICE})"),
    ],
    ids=["single sign-on", "blocked"],
)
async def test_what_github_requires_is_reported_with_its_link(
    runtime: Any, pull: Any, trouble: Any, error: str
) -> None:
    runtime.hub.before_next(trouble, on="POST *")

    assert await runtime.say(None) == Refused(error)


async def test_a_refusal_in_graphql_is_reported_with_its_link(runtime: Any, pull: Any) -> None:
    event = await in_thread(runtime, pull)
    errors = [{"type": "FORBIDDEN", "message": "Resource protected by organization SAML enforcement."}]
    header = f"required; url={SSO}"
    runtime.hub.before_next(answer(200, more={"errors": errors}, x_github_sso=header), on="POST /graphql")

    assert (await runtime.act(event.reply_to, ResolveThread())).error == (
        "GitHub refuses it (FORBIDDEN): Resource protected by organization SAML enforcement. "
        f"Authorize the token for single sign-on: {SSO}"
    )


async def test_a_comment_on_a_line_that_is_not_in_the_diff_appears_in_the_conversation_once(
    runtime: Any, pull: Any
) -> None:
    first = await runtime.act(None, InlineComment("src/engine.py", 900, "Done."))
    again = await runtime.act(None, InlineComment("src/engine.py", 900, "Done."), uncertain=True)

    assert (isinstance(first, Delivered), first) == (True, again)
    assert said(runtime) == ["`src/engine.py:900`: Done."]


async def test_a_comment_on_a_line_appears_there(runtime: Any, pull: Any) -> None:
    result = await runtime.act(None, InlineComment("src/engine.py", 12, "Done."))

    (post,) = [post for post in runtime.hub.posts("ada") if post.body]
    assert (post.path, post.line, post.side) == ("src/engine.py", 12, "RIGHT")
    assert result.remote_id == f"discussion_r{post.id}"


async def test_a_review_whose_lines_are_not_in_the_diff_says_them_itself(runtime: Any, pull: Any) -> None:
    comments = (
        {"path": "src/engine.py", "line": 3, "message": "Here."},
        {"path": "old.py", "line": 7, "body": "There."},
        {"odd": None},
        {"message": "Everywhere."},
    )

    result = await runtime.act(None, Review("request_changes", "My view.", comments))

    assert isinstance(result, Delivered)
    assert said(runtime) == ["My view.\n\n`src/engine.py:3`: Here.\n\n`old.py:7`: There.\n\nEverywhere."]
    assert [post.state for post in runtime.hub.posts("ada")] == ["CHANGES_REQUESTED"]


async def test_what_is_gone_as_a_whole_is_refused_for_good(runtime: Any, pull: Any) -> None:
    runtime.hub.delete(pull)

    result = await runtime.say(None)

    assert (result.retryable, result.error) == (
        False,
        (
            "it is no longer on GitHub, or the token has no access to it: "
            "POST /repos/ada/engine/issues/1/comments: 404: Not Found"
        ),
    )


# ---- refusals


async def test_a_locked_conversation_fails_that_action_only(runtime: Any, pull: Any) -> None:
    other = runtime.hub.pull()
    runtime.track(other)
    runtime.hub.lock(pull)

    locked, there = await runtime.say(None), await runtime.say(Target("github", {"pr": other.number}), ordinal=1)

    assert locked == Refused("GitHub does not allow it: Unable to create comment because issue is locked.")
    assert isinstance(there, Delivered)


async def test_a_limit_says_when_to_come_again(runtime: Any, pull: Any) -> None:
    runtime.hub.slow_down("ada", timedelta(minutes=5))

    first, second = await runtime.say(None), await runtime.say(None)

    for result in (first, second):
        assert (result.retryable, result.retry_after, result.unknown) == (True, timedelta(minutes=5), False)


async def test_a_token_that_is_not_accepted_is_tried_again_later(runtime: Any, pull: Any) -> None:
    runtime.hub.revoke(runtime.token)

    result = await runtime.say(None)

    assert (result.retryable, result.retry_after, result.unknown) == (True, timedelta(minutes=5), False)
    assert result.error == (
        "GitHub does not accept the token (401); write another into the file that GITHUB_TOKEN_FILE names, or run "
        "`gh auth login`, or set GITHUB_TOKEN and start prloom again (POST /repos/ada/engine/issues/1/comments: 401)"
    )


async def test_a_token_without_the_right_is_refused_in_githubs_words(runtime: Any, pull: Any) -> None:
    runtime.token = runtime.hub.token(
        "ada", permissions={"metadata": "read", "pull_requests": "read", "issues": "read"}
    )
    runtime.client = runtime.connect()

    result = await runtime.say(None)

    assert (result.retryable, result.error[:47]) == (False, "GitHub does not allow it: Resource not accessib")


@pytest.mark.parametrize("message", ["", "  \n"])
async def test_an_empty_message_is_not_posted(runtime: Any, pull: Any, message: str) -> None:
    assert await runtime.say(None, message) == Refused("the message is empty, so there is nothing to post")
    assert runtime.hub.posts("ada") == []


# ---- texts


@pytest.mark.parametrize("sign", ["a", "ü", "😀", "`"])
async def test_a_long_message_is_cut_with_a_note(new_runtime: NewRuntime, sign: str) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.track(runtime.hub.pull())

    result = await runtime.say(None, sign * 100_000)

    (post,) = runtime.hub.posts("ada")
    assert isinstance(result, Delivered)
    assert len(post.body.encode("utf-16-le")) // 2 <= 65_536
    assert post.body.endswith("more characters)*")
    assert post.body.startswith(marker(ID))


async def test_a_long_review_and_a_long_comment_on_a_line_are_cut_with_a_note(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    runtime.track(runtime.hub.pull())
    long = "long " * 20_000
    comments = ({"path": "src/engine.py", "line": 3, "message": long}, {"message": long})

    results = [
        await runtime.act(None, Review("comment", long, comments)),
        await runtime.act(None, InlineComment("src/engine.py", 3, long), ordinal=1),
        await runtime.act(None, InlineComment("gone.py", 3, long), ordinal=2),
    ]

    posts = [post for post in runtime.hub.posts("ada") if post.body]
    assert [type(result) for result in results] == [Delivered] * 3
    assert [post.body.endswith("more characters)*") for post in posts] == [True] * 4
    assert max(len(post.body) for post in posts) <= 65_536


async def test_no_message_can_carry_the_mark_of_another_action(runtime: Any, pull: Any) -> None:
    other = action_id("another", "test", 0)

    await runtime.say(None, f"Look:\n{marker(other)}\nend")

    (post,) = runtime.hub.posts("ada")
    assert marked(post.body) == (ID,)
    assert f"(prloom:action {other})" in post.body


# ---- what has no words


async def test_labels_are_put_on_and_taken_off_and_twice_is_as_good_as_once(runtime: Any, pull: Any) -> None:
    for _ in range(2):
        assert await runtime.act(None, AddLabels(("bug", "help wanted"))) == Delivered()
        assert await runtime.act(None, RemoveLabels(("bug", "never there"))) == Delivered()
        runtime.clock.advance(minutes=1)

    assert [label.name for label in pull.labels] == ["help wanted"]


async def test_people_are_assigned(runtime: Any, pull: Any) -> None:
    assert await runtime.act(None, AssignUsers(("Ann",))) == Delivered()
    assert [account.login for account in pull.assignees] == ["ann"]


async def test_whom_github_does_not_assign_without_a_word_is_named(runtime: Any, pull: Any) -> None:
    assert await runtime.act(None, AssignUsers(("ann", "nobody"))) == Refused(
        "GitHub does not allow you to assign these users here: nobody"
    )


async def test_reviewers_are_requested(runtime: Any, pull: Any) -> None:
    assert await runtime.act(None, RequestReviewers(("eve",))) == Delivered()
    assert [account.login for account in pull.reviewers] == ["eve"]


async def test_reviewers_that_cannot_be_requested_are_refused_in_githubs_words(runtime: Any, pull: Any) -> None:
    result = await runtime.act(None, RequestReviewers(("stranger",)))

    assert (result.retryable, "not a collaborator" in result.error) == (False, True)


async def test_a_milestone_is_set_by_its_title(runtime: Any, pull: Any) -> None:
    for title in ("1.0", "2.0", "Next"):
        runtime.hub.milestone(title)

    assert await runtime.act(None, SetMilestone("next")) == Delivered()
    assert pull.milestone.title == "Next"
    assert await runtime.act(None, SetMilestone("3.0")) == Refused(
        "there is no milestone '3.0'; create it on GitHub, then run `prloom retry` for this action"
    )


async def test_it_is_closed(runtime: Any, pull: Any) -> None:
    assert [await runtime.act(None, ClosePr()) for _ in range(2)] == [Delivered()] * 2
    assert pull.state == "closed"


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
async def test_it_is_merged_and_twice_is_as_good_as_once(runtime: Any, pull: Any, method: str) -> None:
    runtime.clock.advance(minutes=1)

    assert [await runtime.act(None, Merge(method)) for _ in range(2)] == [Delivered()] * 2
    assert pull.merged_at is not None


async def test_a_merge_right_after_a_push_is_tried_again(runtime: Any, pull: Any) -> None:
    runtime.clock.advance(minutes=1)
    runtime.hub.push(pull)

    first = await runtime.act(None, Merge())
    runtime.clock.advance(seconds=30)

    assert (first.retryable, first.retry_after) == (True, timedelta(seconds=30))
    assert await runtime.act(None, Merge()) == Delivered()


def moved(commit: str) -> Refused:
    """Return the refusal of a merge of a commit that is not the head any more."""
    return Refused(
        f"the pull request has new commits, and {commit[:12]} is no longer its head (Head branch was modified. "
        "Review and try the merge again.); read the new commits, then request the merge again",
        commit=commit,
    )


async def test_what_is_pushed_meanwhile_is_not_merged(runtime: Any, pull: Any) -> None:
    runtime.clock.advance(minutes=1)
    runtime.hub.world.merge_delay = 0.0
    looked_at = pull.head.sha
    runtime.hub.before_next(lambda: runtime.hub.push(pull), on="PUT *")

    result = await runtime.act(None, Merge())

    assert (result, pull.merged_at) == (moved(looked_at), None)


async def test_what_was_pushed_after_the_decision_is_not_merged(runtime: Any, pull: Any) -> None:
    decided_on = pull.head.sha
    runtime.hub.push(pull)
    runtime.clock.advance(minutes=1)

    result = await runtime.act(None, Merge(commit=decided_on))

    assert (result, pull.merged_at) == (moved(decided_on), None)


async def test_a_merge_without_a_commit_names_the_one_that_it_tried_for_the_attempts_after_it(
    runtime: Any, pull: Any
) -> None:
    runtime.clock.advance(minutes=1)
    tried = runtime.hub.push(pull)

    first = await runtime.act(None, Merge())
    runtime.hub.push(pull)
    runtime.clock.advance(minutes=1)

    assert (first.retryable, first.commit) == (True, tried)
    assert await runtime.act(None, Merge(commit=first.commit)) == moved(tried)


@pytest.mark.parametrize(
    ("said", "again", "error"),
    [
        ("Base branch was modified. Review and try the merge again.", True, "GitHub cannot merge it yet: Base branch"),
        ('Required status check "ci" is expected.', True, "GitHub cannot merge it yet: Required status check"),
        ("Repository rule violations found\n\n2 of 3 required status checks are pending.", True, "GitHub cannot merge"),
        ("At least 1 approving review is required", False, "GitHub refuses it: At least 1 approving review"),
        (
            "Repository rule violations found\n\nCommits must have verified signatures.",
            False,
            "GitHub refuses it: Repo",
        ),
        (
            "Repository rule violations found\n\nChanges must be made through the merge queue",
            False,
            "the base branch has a merge queue; add the pull request to it on GitHub (Repository rule violations found",
        ),
    ],
)
async def test_a_merge_is_tried_again_where_time_may_help_and_not_where_the_rules_forbid_it(
    runtime: Any, pull: Any, said: str, *, again: bool, error: str
) -> None:
    runtime.clock.advance(minutes=1)
    runtime.hub.before_next(answer(405, said), on="PUT *")

    result = await runtime.act(None, Merge())

    assert (result.retryable, result.error[: len(error)]) == (again, error)


async def test_what_conflicts_or_is_closed_is_not_merged(runtime: Any, pull: Any) -> None:
    runtime.hub.conflict(pull)
    runtime.clock.advance(minutes=1)
    conflicting = await runtime.act(None, Merge())
    runtime.hub.close(pull)

    text = "it conflicts with main; resolve the conflict, then run `prloom retry` for this action"
    assert conflicting == Refused(text, commit=pull.head.sha)
    assert await runtime.act(None, Merge()) == Refused("the pull request is closed; reopen it to merge it")


async def test_a_method_that_the_repository_forbids_is_refused_for_good(runtime: Any, pull: Any) -> None:
    runtime.hub.world.repository.merge_methods = ("squash",)
    runtime.clock.advance(minutes=1)

    result = await runtime.act(None, Merge("rebase"))

    assert (result.retryable, result.error) == (
        False,
        "GitHub refuses it: Rebase merges are not allowed on this repository.",
    )


async def test_a_thread_is_resolved_and_twice_is_as_good_as_once(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    event = await heard(runtime)
    runtime.requests()

    assert [await runtime.act(event.reply_to, ResolveThread()) for _ in range(2)] == [Delivered()] * 2
    assert root.thread.resolved_by is runtime.hub.who("ada")
    assert runtime.requests() == ["POST /graphql -> 200"] * 3


async def test_a_thread_among_very_many_is_found(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(rules=NONE)
    pull = runtime.hub.pull(files=[FileDiff(path="src/engine.py", new=(1, 300))])
    runtime.track(pull)
    roots = [runtime.hub.inline(pull, "ann", "why?", line=line) for line in range(1, 250)]
    events = await runtime.poll()
    last = next(event for event in events if event.reply_to.token["thread"] == roots[-1].id)

    assert await runtime.act(last.reply_to, ResolveThread()) == Delivered()
    assert roots[-1].thread.resolved_by is not None


async def test_where_there_is_no_thread_there_is_none_to_resolve(runtime: Any, pull: Any) -> None:
    assert (await runtime.act(None, ResolveThread())).error == (
        "there is no thread to resolve; resolve_thread needs the reply_to of a comment on a line"
    )


async def test_a_thread_that_is_gone_needs_no_resolving(runtime: Any, pull: Any) -> None:
    root = runtime.hub.inline(pull, "ann", "why?")
    event = await heard(runtime)
    runtime.hub.delete(root)

    assert await runtime.act(event.reply_to, ResolveThread()) == Delivered()


async def test_a_refusal_that_hides_in_a_good_answer_is_one(new_runtime: NewRuntime) -> None:
    runtime = new_runtime(login="eve")
    runtime.hub.person("eve", "read")
    pull = runtime.hub.pull()
    runtime.track(pull)
    runtime.hub.inline(pull, "ann", "why?")
    event = await heard(runtime)

    result = await runtime.act(event.reply_to, ResolveThread())

    assert (result.retryable, result.error[:30]) == (False, "GitHub refuses it (FORBIDDEN):")


@pytest.mark.parametrize("reaction", ["eyes", "👀", ":eyes:"])
async def test_a_reaction_goes_to_what_it_is_for(runtime: Any, pull: Any, reaction: str) -> None:
    comment, inline = runtime.hub.comment(pull, "ann", "one"), runtime.hub.inline(pull, "ann", "two")
    for event in await runtime.poll():
        assert [await runtime.act(event.reply_to, React(reaction)) for _ in range(2)] == [Delivered()] * 2
    await runtime.act(None, React(reaction))

    assert [[each.content for each in post.reactions] for post in (comment, inline, pull)] == [["eyes"]] * 3


async def test_a_reaction_that_github_does_not_have_is_refused(runtime: Any, pull: Any) -> None:
    assert (await runtime.act(None, React("shrug"))).error.startswith("GitHub has no reaction 'shrug'; it has +1, -1,")


async def test_a_plan_cannot_be_stored_there(runtime: Any, pull: Any) -> None:
    result = await runtime.act(None, UpsertPlan("here", "A plan", "# A plan"))

    assert result == Refused("the github bridge does not store plans; each plan is in its own folder")


# ---- reviews


@pytest.mark.parametrize(
    ("verdict", "state"),
    [("approve", "APPROVED"), ("request_changes", "CHANGES_REQUESTED"), ("comment", "COMMENTED")],
)
async def test_a_review_has_its_verdict_its_words_and_its_comments(
    runtime: Any, pull: Any, verdict: Any, state: str
) -> None:
    comments = ({"path": "src/engine.py", "line": 3, "message": "Here."},)

    result = await runtime.act(None, Review(verdict, "My view.", comments))

    inline, review = (
        runtime.hub.posts("ada")
        if runtime.hub.posts("ada")[0].body.endswith("Here.")
        else runtime.hub.posts("ada")[::-1]
    )
    assert (review.state, review.body) == (state, f"{marker(ID)}\n\nMy view.")
    assert (inline.path, inline.line) == ("src/engine.py", 3)
    assert result.remote_id == f"pullrequestreview-{review.id}"


@pytest.mark.parametrize("decided", [True, False])
async def test_a_review_and_a_comment_at_a_line_are_of_the_commit_that_was_read(
    runtime: Any, pull: Any, *, decided: bool
) -> None:
    before = pull.head.sha
    runtime.hub.push(pull)
    commit = before if decided else None

    await runtime.act(None, Review("approve", "My view.", commit=commit))
    await runtime.act(None, InlineComment("src/engine.py", 3, "Here.", commit), ordinal=1)

    sent = [each.body["commit_id"] for each in runtime.hub.asked if each.method == "POST"]
    assert sent == [before if decided else pull.head.sha] * 2


async def test_a_review_of_a_commit_that_is_gone_is_refused_in_githubs_words(runtime: Any, pull: Any) -> None:
    result = await runtime.act(None, Review("approve", "My view.", commit="0" * 40))

    assert (result.retryable, "not part of the pull request" in result.error) == (False, True)
    assert runtime.hub.posts("ada") == []


async def test_nobody_approves_their_own_pull_request(runtime: Any) -> None:
    runtime.track(runtime.hub.pull(by="ada"))

    result = await runtime.act(None, Review("approve", "", ({"path": "src/engine.py", "line": 3, "body": "x"},)))

    assert (result.retryable, "own pull request" in result.error) == (False, True)
    assert runtime.hub.posts("ada") == []


async def test_a_review_that_says_nothing_is_not_posted(runtime: Any, pull: Any) -> None:
    assert await runtime.act(None, Review("comment")) == Refused("the review is empty, so there is nothing to post")


# ---- who may


@pytest.mark.parametrize("role", ["read", "triage", "write", "maintain", "admin"])
async def test_a_permission_is_looked_up_by_its_full_name(runtime: Any, pull: Any, role: str) -> None:
    runtime.hub.person("bob", role, hint="CONTRIBUTOR")

    assert await runtime.bridge.permission(runtime.context(), "bob") == role


async def test_who_is_not_there_has_none(runtime: Any, pull: Any) -> None:
    runtime.hub.person("bob", "write")
    runtime.hub.forget("bob")

    assert await runtime.bridge.permission(runtime.context(), "bob") == "none"


@pytest.mark.parametrize("trouble", [BAD_GATEWAY, TIMEOUT, answer(403, "Must have push access"), answer(401)], ids=repr)
async def test_what_could_not_be_looked_up_is_not_known(runtime: Any, pull: Any, trouble: Any) -> None:
    runtime.hub.before_next(trouble)

    with pytest.raises(Exception, match=r"GET /repos/ada/engine/collaborators/ann/permission|401"):
        await runtime.bridge.permission(runtime.context(), "ann")


async def test_a_404_for_somebody_where_the_repository_cannot_be_seen_says_nothing_of_them(
    runtime: Any, pull: Any
) -> None:
    runtime.hub.before_next(answer(404, "Not Found"), times=2)

    with pytest.raises(Exception, match=r"GET /repos/ada/engine/collaborators/ann/permission: 404: Not Found"):
        await runtime.bridge.permission(runtime.context(), "ann")


@pytest.mark.parametrize("login", ["../../user", "a/b", "a?b=c", "ann#", "", ".."])
async def test_a_login_is_never_part_of_an_address(runtime: Any, pull: Any, login: str) -> None:
    runtime.requests()
    runtime.hub.before_next(answer(404))
    await runtime.bridge.permission(runtime.context(), login)

    asked = runtime.hub.asked[0]
    assert asked.url.startswith("https://api.github.com/repos/ada/engine/collaborators/")
    assert asked.url.endswith("/permission")
