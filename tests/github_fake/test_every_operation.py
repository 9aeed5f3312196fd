"""Every operation that the slice has is answered as it describes, on github.com and on Enterprise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fake_github import NONE, Hub, Pull
from fake_github.routes import ROUTES

BODIES: dict[str, Any] = {
    "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}": {"body": "New"},
    "PATCH /repos/{owner}/{repo}/pulls/comments/{comment_id}": {"body": "New"},
    "PATCH /repos/{owner}/{repo}/issues/{issue_number}": {"title": "New", "assignees": ["ann"]},
    "POST /repos/{owner}/{repo}/issues/{issue_number}/assignees": {"assignees": ["ann"]},
    "POST /repos/{owner}/{repo}/issues/{issue_number}/comments": {"body": "Hello"},
    "POST /repos/{owner}/{repo}/issues/{issue_number}/labels": {"labels": ["bug"]},
    "POST /repos/{owner}/{repo}/pulls": {"head": "spare", "base": "main", "title": "Spare"},
    "PATCH /repos/{owner}/{repo}/pulls/{pull_number}": {"title": "New"},
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies": {"body": "Because."},
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers": {"reviewers": ["zoe"]},
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews": {"event": "COMMENT", "body": "Hm"},
}


@dataclass
class Scene:
    """A repository in which there is something of everything, and a client of its owner."""

    hub: Hub
    pull: Pull
    params: dict[str, Any]
    client: httpx.Client

    def ask(self, operation: str) -> httpx.Response:
        method, template = operation.split()
        params = self.params | self.special(template)
        if operation == "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews":
            self.hub.delete(self.hub.world.reviews[params["draft_id"]])
        body = BODIES.get(operation, {"content": "eyes"} if template.endswith("/reactions") else None)
        if operation.endswith("/pulls/{pull_number}/comments"):
            body = {"body": "Why?", "commit_id": self.pull.head.sha, "path": "src/engine.py", "line": 3}
        path = re.sub(r"\{(\w+)\}", lambda found: str(params[found[1]]), template)
        return self.client.request(method, self.hub.api_url + path, json=body if method != "GET" else None)

    def special(self, template: str) -> dict[str, Any]:
        """Return what a template means by a name that others mean otherwise."""
        inline = "/pulls/comments/" in template or template.endswith("/replies")
        return {"comment_id": self.params["inline_id"]} if inline else {}


@pytest.fixture(params=["https://api.github.com", "https://ghe.example.test/api/v3"])
def scene(request, clock):
    """Something of everything, on github.com and on an Enterprise server with its base path."""
    hub = Hub(clock, api_url=request.param, web_url="https://ghe.example.test", limits=NONE)
    hub.person("ann", "write")
    hub.person("zoe", "read")
    hub.branch("spare")
    pull = hub.pull(by="ann")
    hub.milestone("1.0")
    hub.label(pull, "bug")
    comment, inline = hub.comment(pull, "ann", "Hello"), hub.inline(pull, "ann", "Why?")
    for post in (comment, inline, pull):
        hub.react(post, "ann", "heart")
    review = hub.review(pull, "zoe", "CHANGES_REQUESTED", "No", comments=[("src/engine.py", 7, "Hm")])
    draft = hub.review(pull, "ada", "PENDING", "thinking")
    check = hub.check(pull, "build", "failure", log="boom")
    hub.status(pull, "ci", "failure")
    clock.advance(minutes=1)
    params = {
        "owner": "ada",
        "repo": "engine",
        "username": "ann",
        "name": "bug",
        "branch": "main",
        "issue_number": pull.number,
        "pull_number": pull.number,
        "comment_id": comment.id,
        "inline_id": inline.id,
        "review_id": review.id,
        "draft_id": draft.id,
        "ref": pull.head.sha,
        "job_id": check.id,
        "run_id": check.run,
    }
    headers = {"authorization": f"Bearer {hub.token('ada')}"}
    with httpx.Client(transport=hub.transport(), headers=headers) as client:
        yield Scene(hub, pull, params, client)
    hub.verify()


@pytest.mark.parametrize("operation", ROUTES)
def test_an_operation_is_answered_as_github_describes_it(scene, operation):
    answer = scene.ask(operation)

    assert answer.status_code < 400, answer.text


def test_enterprise_has_graphql_beside_the_base_path(clock):
    hub = Hub(clock, api_url="https://ghe.example.test/api/v3")
    headers = {"authorization": f"Bearer {hub.token('ada')}"}
    with httpx.Client(transport=hub.transport(), headers=headers) as client:
        answer = client.post("https://ghe.example.test/api/graphql", json={"query": "{ viewer { login } }"})
        below = client.post("https://ghe.example.test/api/v3/graphql", json={"query": "{ viewer { login } }"})

    assert answer.json() == {"data": {"viewer": {"login": "ada"}}}
    assert below.status_code == 404


def test_an_address_without_the_base_path_is_404(clock):
    hub = Hub(clock, api_url="https://ghe.example.test/api/v3")
    with httpx.Client(transport=hub.transport()) as client:
        assert client.get("https://ghe.example.test/repos/ada/engine").status_code == 404
