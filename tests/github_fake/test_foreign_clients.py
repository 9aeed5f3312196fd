"""Clients that are not ours drive the fake: PyGithub, and the `gh` command where it is installed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import github
import pytest
from fake_github import NONE, Hub, Served, serve
from github.PullRequest import PullRequest

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
async def hub(clock) -> AsyncIterator[Hub]:
    hub = Hub(clock, limits=NONE)
    hub.person("ann", "write")
    yield hub
    hub.verify()


@pytest.fixture
async def at(hub) -> AsyncIterator[Served]:
    async with serve(hub) as served:
        yield served


@pytest.fixture
def with_pygithub(hub, at):
    """Let PyGithub do something to pull request 1, in a thread of its own."""

    async def do(deed: Callable[[PullRequest], Any], number: int = 1) -> Any:
        def work() -> Any:
            auth = github.Auth.Token(hub.token("ada"))
            with github.Github(
                auth=auth, base_url=at.api_url, retry=None, seconds_between_requests=0, seconds_between_writes=0
            ) as client:
                return deed(client.get_repo("ada/engine").get_pull(number))

        return await asyncio.to_thread(work)

    return do


async def test_pygithub_reads_a_pull_request_and_all_that_belongs_to_it(hub, with_pygithub):
    pr = hub.pull("Make it run", body="At last", fork=True)
    hub.comment(pr, "ann", "Hello")
    hub.inline(pr, "ann", "Why?", line=4)
    hub.review(pr, "ann", "APPROVED", "Fine")
    hub.label(pr, "bug")

    def read(pull: PullRequest) -> Any:
        return (
            pull.title,
            pull.head.repo.full_name,
            [comment.body for comment in pull.get_issue_comments()],
            [(comment.path, comment.line, comment.user.login) for comment in pull.get_review_comments()],
            [(review.state, review.body) for review in pull.get_reviews()],
            [label.name for label in pull.labels],
            [file.filename for file in pull.get_files()],
        )

    assert await with_pygithub(read) == (
        "Make it run",
        "ann/engine",
        ["Hello"],
        [("src/engine.py", 4, "ann")],
        [("COMMENTED", ""), ("APPROVED", "Fine")],
        ["bug"],
        ["src/engine.py"],
    )


async def test_pygithub_follows_all_pages(hub, with_pygithub):
    pr = hub.pull()
    for number in range(70):
        hub.comment(pr, "ann", str(number))

    found = await with_pygithub(lambda pull: [comment.body for comment in pull.base.repo.get_issues_comments()])
    assert found == [str(number) for number in range(70)]


async def test_pygithub_talks(hub, with_pygithub):
    pr = hub.pull()
    root = hub.inline(pr, "ann", "Why?")

    def talk(pull: PullRequest) -> None:
        comment = pull.create_issue_comment("Hello")
        comment.edit("Hello!")
        comment.create_reaction("eyes")
        pull.create_review_comment_reply(root.id, "Because.")
        head = pull.base.repo.get_commit(pull.head.sha)
        pull.create_review_comment("Here", head, "src/engine.py", line=9)
        pull.create_review(body="Hm", event="COMMENT", comments=[{"path": "src/engine.py", "line": 2, "body": "Hm?"}])
        pull.create_issue_comment("Oops").delete()

    await with_pygithub(talk)
    assert [post.body for post in hub.posts("ada")] == ["Hello!", "", "Because.", "", "Here", "Hm", "Hm?"]


async def test_pygithub_does_what_a_bridge_does(hub, with_pygithub, clock):
    pr, milestone = hub.pull(by="ann"), hub.milestone("1.0")
    clock.advance(minutes=1)
    hub.person("zoe", "read")

    def act(pull: PullRequest) -> None:
        pull.add_to_labels("bug", "now")
        pull.remove_from_labels("now")
        pull.add_to_assignees("ann")
        pull.create_review_request(reviewers=["zoe"])
        pull.as_issue().edit(milestone=pull.base.repo.get_milestone(milestone.number))
        pull.edit(title="New", body="Better")
        pull.merge(merge_method="squash")

    await with_pygithub(act)
    assert ([label.name for label in pr.labels], [user.login for user in pr.assignees]) == (["bug"], ["ann"])
    assert ([user.login for user in pr.reviewers], pr.milestone, pr.title) == (["zoe"], milestone, "New")
    assert pr.merged_at is not None


async def test_pygithub_sees_checks_and_permissions(hub, with_pygithub):
    pr = hub.pull()
    hub.check(pr, "build", "failure", log="boom")
    hub.status(pr, "ci", "failure", "3 tests failed")

    def read(pull: PullRequest) -> Any:
        commit = pull.base.repo.get_commit(pull.head.sha)
        return (
            [(run.name, run.conclusion) for run in commit.get_check_runs()],
            commit.get_combined_status().state,
            pull.base.repo.get_collaborator_permission("ann"),
        )

    assert await with_pygithub(read) == ([("build", "failure")], "failure", "write")


async def test_pygithub_knows_our_refusals_for_what_they_are(hub, with_pygithub):
    pr = hub.pull()
    hub.lock(pr)

    def fail(pull: PullRequest) -> Any:
        with pytest.raises(github.GithubException) as locked:
            pull.create_issue_comment("x")
        with pytest.raises(github.UnknownObjectException):
            pull.base.repo.get_pull(99)
        return locked.value.status

    assert await with_pygithub(fail) == 403


needs_gh = pytest.mark.skipif(not shutil.which("gh"), reason="the gh command is not installed")


@pytest.fixture
def gh(hub, at, tmp_path: Path):
    """Run `gh api` on a path of the repository and return what it printed."""

    async def run(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "gh",
            "api",
            "--header",
            f"Authorization: token {hub.token('ada')}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GH_TOKEN": "unused", "NO_COLOR": "1"},
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode() + out.decode()
        return out.decode()

    return run


@needs_gh
async def test_gh_follows_all_pages(hub, at, gh):
    pr = hub.pull()
    for number in range(70):
        hub.comment(pr, "ann", str(number))
    url = f"{at.api_url}/repos/ada/engine/issues/comments?per_page=30"

    assert (await gh("--paginate", "--jq", ".[].body", url)).split() == [str(number) for number in range(70)]


@needs_gh
async def test_gh_comments_and_merges(hub, at, gh, clock):
    pr = hub.pull()
    clock.advance(minutes=1)
    repo = f"{at.api_url}/repos/ada/engine"
    posted = json.loads(await gh(f"{repo}/issues/{pr.number}/comments", "-f", "body=Hello"))
    merged = json.loads(await gh("--method", "PUT", f"{repo}/pulls/{pr.number}/merge"))

    assert (posted["body"], merged["merged"]) == ("Hello", True)


@needs_gh
async def test_gh_resolves_a_thread(hub, at, gh):
    root = hub.inline(hub.pull(), "ann", "Why?")
    given = f'{{threadId: "PRRT_{root.thread.id}"}}'
    query = f"mutation {{ resolveReviewThread(input: {given}) {{ thread {{ isResolved }} }} }}"
    await gh(f"{at.api_url}/graphql", "-f", f"query={query}")

    assert root.thread.resolved_by is hub.who("ada")
