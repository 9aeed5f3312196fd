"""Know every address of GitHub's API that is used (https://docs.github.com/rest), relative to the API's own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from prloom.api import HttpNeeds

API = "https://api.github.com"
VERSION = "2022-11-28"
USER = "user"
"""Whose the token is; GitHub tells an App's installation nothing there."""
PAGE = 100
"""The most items that GitHub puts on a page."""
PULLS_PAGE = 50
"""Pull requests on a page of theirs: each has 20 KB, and the latest are on the first."""


def needs(api_url: str) -> HttpNeeds:
    """Return what the host's client for GitHub, or for a GitHub Enterprise Server, has to be like."""
    host = urlsplit(api_url).hostname or ""
    own = host != urlsplit(API).hostname
    variables = ("GITHUB_TOKEN", "GH_TOKEN")
    where = ("--hostname", host.removeprefix("api.")) if own else ()
    return HttpNeeds(
        base_url=api_url,
        token_variables=("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", *variables) if own else variables,
        token_command=("gh", "auth", "token", *where),
        headers={"accept": "application/vnd.github+json", "x-github-api-version": VERSION},
    )


def graphql(api_url: str) -> str:
    """Return where GraphQL is: beside `/api/v3` on an Enterprise Server, below the API's address elsewhere."""
    parts = urlsplit(api_url.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v3')}/graphql"


@dataclass(frozen=True)
class RepositoryUrls:
    """The addresses of one repository, `owner/name`."""

    full_name: str

    @property
    def root(self) -> str:
        """The repository itself."""
        owner, _, name = self.full_name.partition("/")
        return f"repos/{_part(owner)}/{_part(name)}"

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.full_name.partition("/")[0]

    def comments_since(self, since: str) -> str:
        """Comments on all issues and pull requests, by when they were written or edited last."""
        return f"{self.root}/issues/comments?{_since(since)}"

    def inline_since(self, since: str) -> str:
        """Comments on lines of all pull requests, likewise."""
        return f"{self.root}/pulls/comments?{_since(since)}"

    def pulls_latest(self) -> str:
        """All pull requests, the one that changed last first."""
        query = {"state": "all", "sort": "updated", "direction": "desc", "per_page": PULLS_PAGE}
        return f"{self.root}/pulls?{urlencode(query)}"

    def pulls_of(self, branch: str, base: str) -> str:
        """Return the address of the open pull requests of a branch."""
        query = {"state": "open", "head": f"{self.owner}:{branch}", "base": base}
        return f"{self.root}/pulls?{urlencode(query)}"

    def runs(self) -> str:
        """Runs of GitHub Actions, the newest first."""
        return f"{self.root}/actions/runs?per_page={PULLS_PAGE}"

    def branch(self, name: str) -> str:
        """Return the address of a branch."""
        return f"{self.root}/branches/{_part(name)}"

    def jobs(self, run: int) -> str:
        """Jobs of a run, of its last attempt."""
        return listed(f"{self.root}/actions/runs/{run}/jobs")

    def checks(self, sha: str) -> str:
        """Check runs of a commit, of each name the last."""
        return f"{self.root}/commits/{_part(sha)}/check-runs?filter=latest&per_page={PAGE}"

    def statuses(self, sha: str) -> str:
        """All that was said of a commit by statuses, the newest first; the shorter answer changes with each push."""
        return listed(f"{self.root}/commits/{_part(sha)}/statuses")

    def log(self, job: int) -> str:
        """Return the address of a job's log."""
        return f"{self.root}/actions/jobs/{job}/logs"

    def pulls(self) -> str:
        """Return where pull requests are opened."""
        return f"{self.root}/pulls"

    def pull(self, number: int) -> str:
        """Return the address of a pull request."""
        return f"{self.root}/pulls/{number}"

    def issue(self, number: int) -> str:
        """Return the address of the issue that a pull request is too."""
        return f"{self.root}/issues/{number}"

    def comments_of(self, number: int) -> str:
        """All comments in the conversation of a pull request."""
        return listed(f"{self.issue(number)}/comments")

    def inline_of(self, number: int) -> str:
        """All comments on lines of a pull request."""
        return listed(f"{self.pull(number)}/comments")

    def post(self, kind: str, number: int | None) -> str:
        """Return the address of one comment: of the "comments" in conversations, or of the "inline" ones."""
        return f"{self.root}/{'issues' if kind == 'comments' else 'pulls'}/comments/{number}"

    def milestones(self) -> str:
        """All milestones."""
        return f"{self.root}/milestones?state=all&per_page={PAGE}"

    def permission(self, login: str) -> str:
        """Return where it stands what somebody may do here."""
        return f"{self.root}/collaborators/{_part(login)}/permission"

    def comment_reactions(self, comment: int) -> str:
        """Reactions to a comment."""
        return f"{self.root}/issues/comments/{comment}/reactions"

    def inline_reactions(self, comment: int) -> str:
        """Reactions to a comment on a line."""
        return f"{self.root}/pulls/comments/{comment}/reactions"

    def label(self, number: int, name: str) -> str:
        """Return the address of one label of a pull request."""
        return f"{self.issue(number)}/labels/{_part(name)}"


def listed(url: str) -> str:
    """Return the address of a list with pages as long as they can be."""
    return f"{url}?per_page={PAGE}"


def _since(since: str) -> str:
    return urlencode({"since": since, "sort": "updated", "direction": "asc", "per_page": PAGE})


def _part(text: str) -> str:
    if text not in {".", ".."}:
        return quote(text, safe="")
    return "%2E" * len(text)
