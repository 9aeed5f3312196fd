"""A pull request on GitHub, from `prloom adopt` to the reply, through the real command and over real sockets."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from github_project import Project
from stage import until

from prloom.api import marked

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


async def test_a_comment_on_a_pull_request_is_answered_there_once(project: Project):
    number = str(project.pull.number)
    await project.run("adopt", number)
    project.hub.comment(project.pull, "ann", "Please make it faster")

    await project.run("start", "--once")
    project.hub.asked.clear()
    await project.run("start", "--once")

    (reply,) = project.replies
    assert "On it." in reply
    assert len(marked(reply)) == 1
    document = json.loads((await project.run("status", "--json")).stdout)
    (plan,) = document["plans"]
    assert (plan["id"], plan["pr"], plan["title"]) == (f"pr-{number}", project.pull.number, "Make it fast")
    assert plan["events"]["triaged"] == 1
    (github,) = [bridge for bridge in document["bridges"] if bridge["name"] == "github"]
    assert github["error"] is None
    left = project.hub.world.limits.overview("prloom", "core", project.hub.clock())["remaining"]
    asked, charged = len(project.hub.asked), project.hub.charged
    assert github["requests"] == {"total": asked, "charged": charged, "remaining": left}
    assert asked > charged


async def test_a_fork_is_looked_after_by_the_ref_that_github_keeps_of_it(project: Project):
    fork = project.hub.pull("From afar", by="eve", branch="patch", fork=True)
    project.keep_ref(fork.number)

    await project.run("adopt", str(fork.number))

    document = json.loads((await project.run("status", "--json")).stdout)
    assert document["plans"][0]["branch"] == f"pr/{fork.number}"


async def test_a_pull_request_that_is_not_there_is_one_clear_line(project: Project):
    told = await project.run("adopt", "4711", code=1)

    assert told.stderr == "prloom: github has no pull request #4711, or the token has no access to it\n"


async def test_a_token_that_is_not_accepted_stops_this_bridge_with_one_clear_line_and_the_others_go_on(
    project: Project,
):
    await project.run("adopt", str(project.pull.number))
    good, project.repository.env["GITHUB_TOKEN"] = project.repository.env["GITHUB_TOKEN"], "ghp_nonsense"

    told = await project.run("start", "--once")

    assert [line for line in told.stderr.splitlines() if "token" in line] == told.stderr.splitlines()
    assert len(told.stderr.splitlines()) == 1
    document = await project.status()
    bridges = {bridge["name"]: bridge for bridge in document["bridges"]}
    assert bridges["github"]["error"].startswith("GitHub does not accept the token (401); ")
    assert bridges["github"]["error"].endswith(": 401 with the token of GITHUB_TOKEN)")
    assert "\n" not in bridges["github"]["error"]
    assert bridges["local"]["error"] is None
    assert "ghp_nonsense" not in json.dumps(document)
    assert len(project.hub.asked) - before_it(project) == 1

    project.repository.env["GITHUB_TOKEN"] = good
    await project.run("start", "--once")
    assert [bridge["error"] for bridge in (await project.status())["bridges"]] == [None, None]


def before_it(project: Project) -> int:
    """Return how many requests were not refused for their token."""
    return sum(asked.outcome != 401 for asked in project.hub.asked)


async def test_a_token_that_was_renewed_is_taken_up_by_a_dispatcher_at_work(project: Project, tmp_path: Path):
    file = tmp_path / "token"
    old = project.repository.env.pop("GITHUB_TOKEN")
    file.write_text(old)
    project.repository.env["GITHUB_TOKEN_FILE"] = str(file)
    await project.run("adopt", str(project.pull.number))
    async with project.at_work():
        await until(lambda: any(asked.outcome == 200 and asked.path.endswith("/pulls") for asked in project.hub.asked))
        file.write_text(project.hub.token("prloom"))
        project.hub.revoke(old)
        project.hub.comment(project.pull, "ann", "Please make it faster")
        await project.run("poll")

        await until(lambda: len(project.replies) == 1)

    assert [bridge["error"] for bridge in (await project.status())["bridges"]] == [None, None]


async def test_without_a_token_nothing_is_asked_and_one_line_says_what_to_do(project: Project):
    await project.run("adopt", str(project.pull.number))
    project.hub.asked.clear()
    del project.repository.env["GITHUB_TOKEN"]

    told = await project.run("adopt", "4711", code=1)
    await project.run("start", "--once")

    first, rest = (
        "prloom: there is no token: set GH_ENTERPRISE_TOKEN, or name a file that contains it in ",
        "prints one (",
    )
    assert told.stderr.startswith(first)
    assert rest in told.stderr
    assert told.stderr.count("\n") == 1
    github = await project.bridge()
    assert f"prloom: {github['error']}\n" == told.stderr
    assert project.hub.asked == []


async def test_a_dispatcher_that_is_started_anew_asks_nothing_before_it_may(project: Project):
    await project.run("adopt", str(project.pull.number))
    project.hub.slow_down("prloom", timedelta(minutes=5))
    await project.run("start", "--once")
    told = len(project.hub.asked)

    await project.run("start", "--once")
    await project.run("adopt", "4711", code=1)

    assert project.hub.asked[told:] == []
    assert project.hub.complaints == []
    github = await project.bridge()
    assert "was not sent: a limit of the server allows it again at" in github["error"]


def worded(project: Project) -> list[str]:
    """Return the replies, without the empty reviews that GitHub makes for those in threads."""
    return [reply for reply in project.replies if reply]


async def test_prloom_without_any_memory_of_a_pull_request_knows_its_own_posts_and_what_they_answer(project: Project):
    number = str(project.pull.number)
    await project.run("adopt", number)
    project.hub.person("prloom", "admin")
    project.hub.comment(project.pull, "ann", "Please make it faster")
    thread = project.hub.inline(project.pull, "ann", "Why this?")
    await project.run("start", "--once")
    said = worded(project)
    project.hub.reply_in_thread(thread, "ann", "I still do not see why")

    await project.run("forget", f"pr-{number}", "--yes")
    shutil.rmtree(project.repository.root / "prloom" / ".local")
    project.hub.clock = lambda: datetime.now(UTC) + timedelta(seconds=1)  # when it wrote last, it has forgotten too
    await project.run("adopt", number)
    await project.run("start", "--once")

    assert len(worded(project)) == len(said) + 1
    events = json.loads((await project.run("events", "--json")).stdout)["events"]
    states = {(event["type"], event["state"]) for event in events if event["author"] == "ann"}
    assert states == {("pr_comment", "handled"), ("pr_review_comment", "handled"), ("pr_review_comment", "triaged")}
    reasons = [event["reason"] for event in events if event["state"] == "handled"]
    assert all(reason.startswith("prloom has answered it already: http") for reason in reasons)
