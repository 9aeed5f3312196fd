"""How GitHub writes accounts, repositories, labels and milestones in JSON."""

from __future__ import annotations

from urllib.parse import quote

from .exchange import Json, stamp
from .things import Account, Label, Milestone, Pull, Reaction, Repository
from .world import World

OWNERS = {"admin": "OWNER", "maintain": "COLLABORATOR", "write": "COLLABORATOR", "triage": "COLLABORATOR"}
USER_LISTS = {
    "following_url": "following{/other_user}",
    "gists_url": "gists{/gist_id}",
    "starred_url": "starred{/owner}{/repo}",
    "events_url": "events{/privacy}",
    "followers_url": "followers",
    "subscriptions_url": "subscriptions",
    "organizations_url": "orgs",
    "repos_url": "repos",
    "received_events_url": "received_events",
}
REPOSITORY_LISTS = {
    "archive_url": "{archive_format}{/ref}",
    "assignees_url": "assignees{/user}",
    "blobs_url": "git/blobs{/sha}",
    "branches_url": "branches{/branch}",
    "collaborators_url": "collaborators{/collaborator}",
    "comments_url": "comments{/number}",
    "commits_url": "commits{/sha}",
    "compare_url": "compare/{base}...{head}",
    "contents_url": "contents/{+path}",
    "contributors_url": "contributors",
    "deployments_url": "deployments",
    "downloads_url": "downloads",
    "events_url": "events",
    "forks_url": "forks",
    "git_commits_url": "git/commits{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "hooks_url": "hooks",
    "issue_comment_url": "issues/comments{/number}",
    "issue_events_url": "issues/events{/number}",
    "issues_url": "issues{/number}",
    "keys_url": "keys{/key_id}",
    "labels_url": "labels{/name}",
    "languages_url": "languages",
    "merges_url": "merges",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "pulls_url": "pulls{/number}",
    "releases_url": "releases{/id}",
    "stargazers_url": "stargazers",
    "statuses_url": "statuses/{sha}",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "tags_url": "tags",
    "teams_url": "teams",
    "trees_url": "git/trees{/sha}",
}


def repository_url(world: World, repository: Repository | None = None) -> str:
    return f"{world.urls.api}/repos/{(repository or world.repository).full_name}"


def web_url(world: World, repository: Repository | None = None) -> str:
    return f"{world.urls.web}/{(repository or world.repository).full_name}"


def user(world: World, account: Account) -> Json:
    """Write an account that exists; `maybe_user` writes one that may be gone."""
    url = f"{world.urls.api}/users/{quote(account.login)}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": f"U_{account.id}",
        "avatar_url": f"https://avatars.example/u/{account.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.urls.web}/{quote(account.login)}",
        **{key: f"{url}/{tail}" for key, tail in USER_LISTS.items()},
        "type": account.type,
        "site_admin": False,
        "user_view_type": "public",
    }


def maybe_user(world: World, account: Account | None) -> Json:
    if account is None or account.exists:
        return user(world, account) if account else None
    return user(world, world.account("ghost")) if world.ghosts == "named" else None


def association(account: Account) -> str:
    """Return what GitHub hints at: private members of an organisation look like contributors."""
    return account.hint or OWNERS.get(account.role, "CONTRIBUTOR" if account.role == "read" else "NONE")


def repository(world: World, repo: Repository) -> Json:
    """Write a repository as it stands in a pull request: twice in each, so it is kept until something changes."""
    version, drawn = world.drawn.get(repo.id, (-1, None))
    if version != world.version:
        drawn = draw_repository(world, repo)
        world.drawn[repo.id] = world.version, drawn
    return drawn


def draw_repository(world: World, repo: Repository) -> Json:
    url, web = repository_url(world, repo), web_url(world, repo)
    host = world.urls.web.split("://", 1)[1]
    opened = sum(issue.state == "open" for issue in world.issues.values())
    return {
        "id": repo.id,
        "node_id": f"R_{repo.id}",
        "name": repo.name,
        "full_name": repo.full_name,
        "owner": user(world, repo.owner),
        "private": repo.private,
        "html_url": web,
        "description": None,
        "fork": repo.fork,
        "url": url,
        **{key: f"{url}/{tail}" for key, tail in REPOSITORY_LISTS.items()},
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{web}.git",
        "svn_url": web,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "forks_count": 0,
        "forks": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "size": 100,
        "default_branch": repo.default_branch,
        "open_issues_count": opened,
        "open_issues": opened,
        **{f"has_{what}": True for what in ("issues", "projects", "wiki", "downloads")},
        "has_pages": False,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "visibility": "private" if repo.private else "public",
        "pushed_at": stamp(repo.pushed_at),
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.updated_at),
        "license": None,
    }


def full_repository(world: World, viewer: Account | None) -> Json:
    repo = world.repository
    rights = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    return {
        **repository(world, repo),
        "permissions": {right: bool(viewer and viewer.may(role)) for right, role in rights.items()},
        "allow_merge_commit": "merge" in repo.merge_methods,
        "allow_squash_merge": "squash" in repo.merge_methods,
        "allow_rebase_merge": "rebase" in repo.merge_methods,
        "subscribers_count": 0,
        "network_count": 0,
    }


def minimal_pull(world: World, pull: Pull) -> Json:
    """Write a pull request as it stands in a check: those from forks are not named there."""
    url = repository_url(world)
    repo = {"id": world.repository.id, "url": url, "name": world.repository.name}
    return {
        "id": pull.id,
        "number": pull.number,
        "url": f"{url}/pulls/{pull.number}",
        "head": {"ref": pull.head.ref, "sha": pull.head.sha, "repo": repo},
        "base": {"ref": pull.base.ref, "sha": pull.base.sha, "repo": repo},
    }


def label(world: World, found: Label) -> Json:
    return {
        "id": found.id,
        "node_id": f"LA_{found.id}",
        "url": f"{repository_url(world)}/labels/{found.name.replace(' ', '%20')}",
        "name": found.name,
        "description": found.description,
        "color": found.color,
        "default": False,
    }


def milestone(world: World, found: Milestone | None) -> Json:
    if found is None:
        return None
    url = f"{repository_url(world)}/milestones/{found.number}"
    members = [issue for issue in world.issues.values() if issue.milestone is found]
    return {
        "url": url,
        "html_url": f"{web_url(world)}/milestone/{found.number}",
        "labels_url": f"{url}/labels",
        "id": found.id,
        "node_id": f"MI_{found.id}",
        "number": found.number,
        "state": found.state,
        "title": found.title,
        "description": None,
        "creator": maybe_user(world, found.creator),
        "open_issues": sum(issue.state == "open" for issue in members),
        "closed_issues": sum(issue.state == "closed" for issue in members),
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "closed_at": None,
        "due_on": None,
    }


REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def rollup(reactions: list[Reaction], url: str) -> Json:
    counts = {content: sum(reaction.content == content for reaction in reactions) for content in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def integration(world: World, slug: str) -> Json:
    """Write the GitHub App that ran a check."""
    return {
        "id": 15368 if slug == "github-actions" else 90000 + len(slug),
        "slug": slug,
        "node_id": f"A_{slug}",
        "owner": user(world, world.account("github")),
        "name": slug.replace("-", " ").title(),
        "description": None,
        "external_url": f"https://{slug}.example",
        "html_url": f"{world.urls.web}/apps/{slug}",
        "created_at": stamp(world.repository.created_at),
        "updated_at": stamp(world.repository.created_at),
        "permissions": {"checks": "write"},
        "events": [],
    }
