"""Commits, branches and how far apart they are; the fake knows of history only what pull requests tell."""

from __future__ import annotations

from . import shapes
from .call import Call
from .exchange import Json, Reply, gone, stamp
from .world import World


def render(world: World, sha: str) -> Json:
    repo, web = shapes.repository_url(world), shapes.web_url(world)
    person = {"name": "Ann", "email": "ann@example.org", "date": stamp(world.repository.created_at)}
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": f"{repo}/commits/{sha}",
        "html_url": f"{web}/commit/{sha}",
        "comments_url": f"{repo}/commits/{sha}/comments",
        "commit": {
            "url": f"{repo}/git/commits/{sha}",
            "author": person,
            "committer": person,
            "message": f"Change {sha[:7]}",
            "comment_count": 0,
            "tree": {"sha": sha, "url": f"{repo}/git/trees/{sha}"},
        },
        "author": None,
        "committer": None,
        "parents": [],
    }


def known(world: World, sha: str) -> str:
    """Return the name of a commit of a branch or of a pull request; any other is gone."""
    if sha not in world.repository.branches.values() and not any(
        sha in {pull.head.sha, pull.base.sha, pull.merge_sha, *pull.commits} for pull in world.pulls()
    ):
        raise gone()
    return sha


def read_branch(call: Call) -> Reply:
    name, world = call.params["branch"], call.world
    if name not in world.repository.branches:
        raise gone()
    url = f"{shapes.repository_url(world)}/branches/{name}"
    return Reply(
        200,
        {
            "name": name,
            "commit": render(world, world.repository.branches[name]),
            "_links": {"self": url, "html": f"{shapes.web_url(world)}/tree/{name}"},
            "protected": False,
            "protection": {"enabled": False},
            "protection_url": f"{url}/protection",
        },
    )


def read_repository(call: Call) -> Reply:
    return Reply(200, shapes.full_repository(call.world, call.viewer))
