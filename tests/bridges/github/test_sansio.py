"""What the bridge knows of GitHub, as values: addresses, fields, words and refusals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.github.sansio import answers, checks, cursor, endpoints, pulls, received_posts, requests
from bridges.github.sansio.comment_kinds import COMMENT_KINDS, CommentKind
from bridges.github.sansio.cursor import REMEMBERED, GithubCursor, PullRequestState, StoredPost
from bridges.github.sansio.requests import ReplyTarget
from prloom.api import PERMISSIONS, HttpError, Refused, marked, marker

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ACTION = "a-00000000000000000000"

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "user", "login", "body", "head", "repo", "sha", "number", "errors", "message", "created_at"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)

# ---- whatever GitHub sends


@given(junk)
def test_nothing_that_github_could_send_is_an_exception(value: Any) -> None:
    item = value if isinstance(value, dict) else {"id": 1, "user": value}
    for read in (
        received_posts.comment,
        received_posts.inline,
        pulls.summary,
        pulls.pull_request,
        checks.read_run,
        checks.read_status,
        checks.read_job,
    ):
        read(item)
    received_posts.review(item, 7)
    answers.author(value)
    answers.permission(value)
    endpoints.find_thread(value, 1)
    endpoints.next_threads_page(value)
    endpoints.graphql_error(value)
    answers.message(HttpError("x", trouble="refused", body=json.dumps(value)))
    cursor.load(value)
    requests.read_token(value, None)


@given(st.dictionaries(st.sampled_from(["id", "body", "created_at", "updated_at"]), junk))
def test_a_comment_of_any_shape_becomes_an_event_or_none(extra: dict[str, Any]) -> None:
    post = received_posts.comment({"id": 1, "issue_url": "https://x/issues/7", **extra})

    assert post is None or received_posts.new_event(post, None) is not None


@pytest.mark.parametrize(
    ("url", "number"), [("https://x/issues/7", 7), ("7", 7), ("x/", None), ("", None), ("x/7a", None)]
)
def test_a_number_is_read_from_the_end_of_an_address(url: str, number: int | None) -> None:
    assert answers.tail_number(url) == number


# ---- addresses


@pytest.mark.parametrize(
    ("api", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://api.github.com/", "https://api.github.com/graphql"),
        ("https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
        ("https://ghe.example:8443/base/api/v3/", "https://ghe.example:8443/base/api/graphql"),
        ("https://api.sub.ghe.com", "https://api.sub.ghe.com/graphql"),
    ],
)
def test_graphql_is_beside_the_api_of_a_server_and_below_that_of_github(api: str, graphql: str) -> None:
    assert endpoints.graphql_url(api) == graphql


@pytest.mark.parametrize(
    ("api", "command", "first"),
    [
        ("https://api.github.com", ("gh", "auth", "token"), "GITHUB_TOKEN"),
        ("https://ghe.example/api/v3", ("gh", "auth", "token", "--hostname", "ghe.example"), "GH_ENTERPRISE_TOKEN"),
        ("https://api.sub.ghe.com", ("gh", "auth", "token", "--hostname", "sub.ghe.com"), "GH_ENTERPRISE_TOKEN"),
    ],
)
def test_a_token_is_searched_where_gh_keeps_that_of_the_host(api: str, command: tuple[str, ...], first: str) -> None:
    needs = endpoints.needs(api)

    assert (needs.token_command, needs.token_variables[0], needs.base_url) == (command, first, api)


def test_a_name_is_never_more_than_one_part_of_an_address() -> None:
    repository = endpoints.RepositoryUrls("ada/engine")

    assert repository.label(7, "a/b ?#ü") == "repos/ada/engine/issues/7/labels/a%2Fb%20%3F%23%C3%BC"
    assert repository.permission("..") == "repos/ada/engine/collaborators/%2E%2E/permission"


# ---- tokens of targets


@pytest.mark.parametrize(
    "token", [7, "x", [], {}, {"pr": "7"}, {"pr": True}, {"pr": 0}, {"pr": -1}, {"plan": "x"}, [[{}]]]
)
def test_a_token_of_another_bridge_names_no_target(token: Any) -> None:
    assert requests.read_token(token, 7) is None


def test_a_reply_target_survives_the_round_trip() -> None:
    for spot in (
        ReplyTarget(7),
        ReplyTarget(7, comment=3),
        ReplyTarget(7, thread=1, inline=2),
        ReplyTarget(7, review=4),
    ):
        assert requests.read_token(json.loads(json.dumps(requests.to_target(spot).token)), None) == spot


def test_a_token_has_the_names_under_which_stored_events_carry_it() -> None:
    every = ReplyTarget(7, thread=1, inline=2, comment=3, review=4)

    assert requests.to_target(every).token == {"pr": 7, "thread": 1, "inline": 2, "comment": 3, "review": 4}
    assert requests.to_target(ReplyTarget(7, comment=3)).token == {"pr": 7, "comment": 3}


def test_no_token_is_the_plans_pull_request() -> None:
    assert (requests.read_token(None, 7), requests.read_token(None, None)) == (ReplyTarget(7), None)


# ---- who


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ({"permission": "write", "role_name": "maintain"}, "maintain"),
        ({"permission": "read", "role_name": "triage"}, "triage"),
        ({"permission": "write", "role_name": "release crew", "user": {"permissions": {"push": True}}}, "write"),
        ({"permission": "read", "role_name": "odd", "user": {"permissions": {"pull": True, "push": False}}}, "read"),
        ({"role_name": "odd", "user": {"permissions": {"pull": True, "triage": True, "push": True}}}, "write"),
        ({"role_name": "odd", "user": {"permissions": {"pull": True, "maintain": True, "owner": True}}}, "maintain"),
        ({"permission": "read", "role_name": "odd", "user": {"permissions": {"push": "yes"}}}, "read"),
        *(({"permission": "none", "role_name": each}, each) for each in PERMISSIONS),
        ({"permission": "admin"}, "admin"),
        ({"permission": "none", "role_name": ""}, "none"),
        ({"permission": "owner"}, "none"),
        ({}, None),
        ([], None),
        ({"role_name": "odd", "user": {"permissions": {"owner": True}}}, None),
    ],
)
def test_a_permission_is_the_role_and_that_of_a_role_of_ones_own_its_rights(said: Any, role: str | None) -> None:
    assert answers.permission(said) == role


# ---- words


@given(st.text(), st.integers(min_value=requests._ROOM + 1, max_value=2000))
def test_a_text_is_never_longer_than_there_is_room_for(text: str, room: int) -> None:
    assert requests._length(requests.cut(text * 40, room)) <= room


@given(
    st.lists(st.sampled_from(["<!-- prloom:action ", ACTION, " -->", "<!-- prloom:part -->", "\n", "x"]), max_size=12)
)
def test_no_text_can_contain_a_marker_of_its_own(parts: list[str]) -> None:
    body = requests.post_body("".join(parts), "a-11111111111111111111")

    assert marked(body) == ("a-11111111111111111111",)
    assert requests.PART not in body


def test_control_characters_are_shown_and_lines_are_kept() -> None:
    assert requests.defused("a\x00\x1b[2Jb\tc\r\nd\x7f\ud800") == "a␀␛[2Jb\tc\r\nd␡?"


def test_code_that_is_cut_is_ended_before_the_note() -> None:
    text = requests.cut("```\n" + "x = 1\n" * 1000, 1000)

    assert "\n```\n\n*(cut here: " in text


def test_the_mark_comes_first_so_that_nothing_open_hides_it() -> None:
    assert requests.post_body("<!-- open", ACTION) == f"{marker(ACTION)}\n\n<!-- open"


# ---- refusals


def error(trouble: Any, status: int | None = None, **more: Any) -> HttpError:
    return HttpError("GET /x: it", trouble=trouble, status=status, **more)


@pytest.mark.parametrize(
    ("what", "again", "doubtful"),
    [
        (error("limited", 429, retry_at=NOON + timedelta(seconds=30)), True, False),
        (error("unauthorized", 401), True, False),
        (error("forbidden", 403), False, False),
        (error("gone", 404), False, False),
        (error("refused", 422), False, False),
        (error("refused", 409), True, False),
        (error("unknown", 502), True, True),
        (error("unknown"), True, True),
    ],
)
def test_what_an_error_means_for_an_action(what: HttpError, *, again: bool, doubtful: bool) -> None:
    result = answers.refusal(what, NOON, unsure=False)

    assert (result.retryable, result.unknown) == (again, doubtful)
    assert answers.refusal(what, NOON, unsure=True).unknown
    assert "\n" not in result.error


def test_a_time_to_come_again_is_kept() -> None:
    later = NOON + timedelta(seconds=30)

    for trouble in ("limited", "unknown"):
        what = error(trouble, 503, retry_at=later)
        assert answers.refusal(what, NOON, unsure=False).retry_after == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            '{"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}',
            "Validation Failed head invalid",
        ),
        ('{"message": "No", "errors": ["one", {"message": "two"}, 3, null]}', "No one two"),
        ('{"message": "a\\nb"}', "a b"),
        ("<html>", "GET /x: it"),
        ("[" * 5000, "GET /x: it"),
    ],
)
def test_githubs_own_words_are_one_line(body: str, said: str) -> None:
    assert answers.message(error("refused", body=body)) == said


@pytest.mark.parametrize(
    ("kind", "again"), [("RATE_LIMITED", True), ("FORBIDDEN", False), ("NOT_FOUND", False), ("", True)]
)
def test_an_error_of_graphql_is_a_refusal(kind: str, *, again: bool) -> None:
    assert answers.graphql_refusal(kind, "why").retryable is again


# ---- actions


def test_a_milestone_that_is_spelled_so_and_is_open_comes_first() -> None:
    found = [
        {"number": 1, "title": "Next", "state": "closed"},
        {"number": 2, "title": "next", "state": "open"},
        {"number": 3, "title": "Next", "state": "open"},
    ]

    assert [requests.milestone(found, title) for title in ("Next", "next", "NEXT", "last")] == [3, 2, 2, None]


def test_a_review_by_a_team_is_requested_from_the_team() -> None:
    from prloom.api import RequestReviewers  # noqa: PLC0415 - the one place that needs it

    request = requests.idempotent(RequestReviewers(("ann", "ada/crew")), endpoints.RepositoryUrls("ada/engine"), 7)

    assert request.body == {"reviewers": ["ann"], "team_reviewers": ["crew"]}


def test_there_is_no_reaction_to_a_review() -> None:
    assert isinstance(requests.react(endpoints.RepositoryUrls("ada/engine"), ReplyTarget(7, review=1), "eyes"), Refused)


# ---- checks


@pytest.mark.parametrize(
    ("status", "conclusion", "failed", "running"),
    [
        ("completed", "failure", True, False),
        ("completed", "timed_out", True, False),
        ("completed", "startup_failure", True, False),
        ("completed", "action_required", True, False),
        ("completed", "cancelled", False, False),
        ("completed", "skipped", False, False),
        ("completed", "success", False, False),
        ("completed", None, False, False),
        ("queued", None, False, True),
        ("in_progress", None, False, True),
        ("waiting", None, False, True),
    ],
)
def test_the_state_of_a_check(status: str, conclusion: str | None, *, failed: bool, running: bool) -> None:
    result = checks.read_run({"id": 1, "status": status, "conclusion": conclusion})

    assert (result.failed, result.running) == (failed, running)


def test_of_a_status_the_latest_counts() -> None:
    said = [
        checks.read_status({"id": n, "context": "ci", "state": state}) for n, state in ((2, "success"), (1, "failure"))
    ]

    assert [result.key for result in checks.latest(said)] == ["status-2"]


def test_the_end_of_a_log_is_plain_text_up_to_its_last_error() -> None:
    at = "2026-01-01T12:00:00.0000000Z"
    log = f"\ufeff{at} \x1b[31mred\x1b[0m\r\n{at} ##[error]no\r\n{at} bye\r\n"

    assert checks.log_end(log.encode()) == "red\n##[error]no"
    assert checks.log_end(b"\xff\xfe just bytes") == "\ufffd\ufffd just bytes"
    assert len(checks.log_end(b"x" * 10**6)) == 12_000


# ---- the cursor


def test_a_cursor_survives_the_disk() -> None:
    known = GithubCursor(
        pushed="x",
        poll_number=3,
        mergeability_due={7: 2},
        pull_requests={7: PullRequestState(head="abc", conflict=None)},
    )
    known.remember("issuecomment-1", StoredPost("github:issuecomment-1", "d", 7))

    assert cursor.load(json.loads(json.dumps(cursor.dump(known)))) == known


def test_a_stored_cursor_keeps_the_names_that_earlier_versions_gave_it() -> None:
    checks_state = {
        "tags": {"checks": "e"},
        "prints": {"checks": "f"},
        "running": {"checks": 1},
        "told": ["check-1@x"],
        "at": "x",
        "moved": "x",
    }
    pull = {
        "plan": "pr-7@x",
        "head": "a",
        "base": "main",
        "state": "closed",
        "updated": "x",
        "conflict": True,
        "fork": True,
        "owner": "ann",
        "reviews": "e",
        "alone": "e",
        "checks": checks_state,
        "counts": {"inline": 1},
        "looked": {"merge": 3},
    }
    feed = {"since": "x", "etag": "e"}
    stored = {
        **dict.fromkeys(("comments", "inline", "pulls", "actions"), feed),
        "pushed": "x",
        "pushSeen": True,
        "bases": {"main": "a"},
        "turn": 3,
        "pullRequests": {"7": pull},
        "posts": {"issuecomment-1": ["github:issuecomment-1", "d", 7]},
        "reviewsDue": [7],
        "mergesDue": {"7": 2},
        "checksDue": [7],
        "deletionsDue": {"7": ["inline"]},
        "used": ["actions"],
        "closedEyes": {"checks": "x"},
        "missing": [7],
        "heardBefore": {"7": "pr-7@x"},
        "renamed": {"a/b": "a/c"},
    }

    assert json.loads(json.dumps(cursor.dump(cursor.load(stored)))) == stored


def test_a_cursor_is_bounded() -> None:
    known = GithubCursor()
    for number in range(3 * REMEMBERED):
        known.remember(f"issuecomment-{number}", StoredPost(f"github:issuecomment-{number}", "d", 7))

    assert len(known.posts) == REMEMBERED
    assert f"issuecomment-{3 * REMEMBERED - 1}" in known.posts


@pytest.mark.parametrize("kind", COMMENT_KINDS)
def test_all_lists_of_comments_are_read_anew_when_one_was_to_be_read_from_a_time_to_come(kind: CommentKind) -> None:
    known = cursor.load({each: {"since": "2026-01-01T12:00:00Z", "etag": "e"} for each in COMMENT_KINDS})
    known.comment_feeds[kind].since = "2026-01-01T19:00:00Z"

    known.start_over_from_future("2026-01-01T13:00:00Z")

    assert cursor.dump(known) == {}


def test_a_post_is_of_the_kind_that_its_link_says() -> None:
    keys = ("issuecomment-1", "discussion_r2", "pullrequestreview-3", "")

    assert [received_posts.kind(key) for key in keys] == ["comments", "inline", None, None]


def test_two_cursors_share_nothing() -> None:
    cursor.load(None).pull_requests[7] = PullRequestState()
    cursor.load({}).comments.since = "x"

    assert cursor.load(None) == GithubCursor()
