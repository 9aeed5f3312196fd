"""Commits, branches and how far apart they are; the fake knows of history only what pull requests tell."""

from __future__ import annotations

from . import diffs, shapes
from .call import Call
from .exchange import Json, Listing, Reply, gone, stamp
from .things import Pull
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


def resolve(world: World, ref: str) -> str:
    """Return the commit that a branch, a pull request's ref or a commit's own name stands for."""
    short = ref.removeprefix("refs/").removeprefix("heads/")
    for pull in world.pulls():
        if short == f"pull/{pull.number}/head":
            return pull.head.sha
    if short in world.repository.branches:
        return world.repository.branches[short]
    heads = (sha for pull in world.pulls() for sha in (pull.head.sha, pull.base.sha, pull.merge_sha, *pull.commits))
    known = {*world.repository.branches.values(), *heads}
    if ref not in known:
        raise gone()
    return ref


def read(call: Call) -> Reply:
    return Reply(200, render(call.world, resolve(call.world, call.params["ref"])))


def short_branch(world: World, name: str) -> Json:
    sha = world.repository.branches[name]
    commit = {"sha": sha, "url": f"{shapes.repository_url(world)}/commits/{sha}"}
    return {"name": name, "commit": commit, "protected": False}


def list_branches(call: Call) -> Listing:
    return Listing(sorted(call.world.repository.branches), lambda name: short_branch(call.world, name))


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


def between(world: World, base: str, head: str) -> Pull | None:
    shas = (resolve(world, base), resolve(world, head))
    return next((pull for pull in world.pulls() if (pull.base.sha, pull.head.sha) == shas), None)


def compare(call: Call) -> Reply:
    """Compare two commits; only those of one pull request are known to be apart."""
    world = call.world
    base, _, head = call.params["basehead"].partition("...")
    pull = between(world, base, head)
    web = f"{shapes.web_url(world)}/compare/{base}...{head}"
    ahead = [render(world, sha) for sha in pull.commits] if pull else []
    root = render(world, resolve(world, base))
    return Reply(
        200,
        {
            "url": f"{shapes.repository_url(world)}/compare/{base}...{head}",
            "html_url": web,
            "permalink_url": web,
            "diff_url": f"{web}.diff",
            "patch_url": f"{web}.patch",
            "base_commit": root,
            "merge_base_commit": root,
            "status": "ahead" if ahead else "identical",
            "ahead_by": len(ahead),
            "behind_by": 0,
            "total_commits": len(ahead),
            "commits": ahead,
            "files": [diffs.render(world, pull, file) for file in pull.files.values()] if pull else [],
        },
    )
