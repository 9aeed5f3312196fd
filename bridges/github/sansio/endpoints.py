"""List every REST address and GraphQL query that the bridge uses.

Addresses are relative to that of the API (https://docs.github.com/rest). GraphQL is used for what REST does not offer:
to resolve a thread, to take a pull request out of draft, and to say who edited a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from prloom.api import HttpNeeds, Json

from ..settings import PUBLIC_API  # noqa: TID252 - whoever loads the bridge names its package
from . import answers
from .comment_kinds import NAMES, CommentKind

VERSION = "2022-11-28"
USER = "user"
"""The account of the token; GitHub refuses it to an App's installation."""
PAGE_SIZE = 100
"""The most items that GitHub puts on a page."""
PULLS_PAGE_SIZE = 50
"""Pull requests on a page of theirs: each has 20 KB, and the latest are on the first."""

_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        nodes { id isResolved comments(first: 1) { nodes { fullDatabaseId } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
_EDITOR = """
query($id: ID!) {
  node(id: $id) {
    ... on PullRequest { body lastEditedAt author { __typename login } editor { __typename login } }
    ... on IssueComment { body lastEditedAt author { __typename login } editor { __typename login } }
  }
}
"""
_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"


def needs(api_url: str) -> HttpNeeds:
    """Return the settings of the HTTP client for GitHub, or for a GitHub Enterprise Server."""
    variables: tuple[str, ...] = ("GITHUB_TOKEN", "GH_TOKEN")
    command: tuple[str, ...] = ("gh", "auth", "token")
    host = urlsplit(api_url).hostname or ""
    if host != urlsplit(PUBLIC_API).hostname:
        variables = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", *variables)
        command = (*command, "--hostname", host.removeprefix("api."))
    return HttpNeeds(
        base_url=api_url,
        token_variables=variables,
        token_command=command,
        headers={"accept": "application/vnd.github+json", "x-github-api-version": VERSION},
    )


def graphql_url(api_url: str) -> str:
    """Return the address of GraphQL: beside `/api/v3` on an Enterprise Server, below the API's address elsewhere."""
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
        """The owner of the repository."""
        return self.full_name.partition("/")[0]

    def comments_since(self, kind: CommentKind, since: str) -> str:
        """Return the address of all comments of a kind, by when they were written or edited last."""
        return f"{self._comments(kind)}?{_since(since)}"

    def pulls_latest(self) -> str:
        """Return the address of all pull requests, the one that changed last first."""
        query = {"state": "all", "sort": "updated", "direction": "desc", "per_page": PULLS_PAGE_SIZE}
        return f"{self.root}/pulls?{urlencode(query)}"

    def pulls_open(self) -> str:
        """Return the address of all open pull requests."""
        return f"{self.root}/pulls?state=open&sort=created&direction=asc&per_page={PULLS_PAGE_SIZE}"

    def pulls_of(self, branch: str, state: str) -> str:
        """Return the address of the pull requests of a branch in a state: "open", "closed" or "all"."""
        query = {"state": state, "head": f"{self.owner}:{branch}", "per_page": PULLS_PAGE_SIZE}
        return f"{self.root}/pulls?{urlencode(query)}"

    def runs(self) -> str:
        """Return the address of the runs of GitHub Actions, the newest first."""
        return f"{self.root}/actions/runs?per_page={PULLS_PAGE_SIZE}"

    def branch(self, name: str) -> str:
        """Return the address of a branch."""
        return f"{self.root}/branches/{_part(name)}"

    def jobs(self, run: int) -> str:
        """Return the address of the jobs in the last attempt of a run."""
        return full_pages(f"{self.root}/actions/runs/{run}/jobs")

    def checks(self, sha: str) -> str:
        """Return the address of a commit's check runs, the last one of each name."""
        return f"{self.root}/commits/{_part(sha)}/check-runs?filter=latest&per_page={PAGE_SIZE}"

    def statuses(self, sha: str) -> str:
        """Return the address of a commit's statuses, the newest first; the shorter answer changes with each push."""
        return full_pages(f"{self.root}/commits/{_part(sha)}/statuses")

    def log(self, job: int) -> str:
        """Return the address of a job's log."""
        return f"{self.root}/actions/jobs/{job}/logs"

    def pulls(self) -> str:
        """Return the address for opening pull requests."""
        return f"{self.root}/pulls"

    def pull(self, number: int) -> str:
        """Return the address of a pull request."""
        return f"{self.root}/pulls/{number}"

    def issue(self, number: int) -> str:
        """Return the address of the issue that a pull request is too."""
        return f"{self.root}/issues/{number}"

    def comments_of(self, kind: CommentKind, number: int) -> str:
        """Return the address of all comments of a kind on a pull request."""
        return full_pages(f"{self.root}/{NAMES[kind].parent}/{number}/comments")

    def comment(self, kind: CommentKind, number: int | None) -> str:
        """Return the address of one comment of a kind."""
        return f"{self._comments(kind)}/{number}"

    def _comments(self, kind: CommentKind) -> str:
        return f"{self.root}/{NAMES[kind].parent}/comments"

    def milestones(self) -> str:
        """Return the address of all milestones."""
        return f"{self.root}/milestones?state=all&per_page={PAGE_SIZE}"

    def permission(self, login: str) -> str:
        """Return the address of an account's permission here."""
        return f"{self.root}/collaborators/{_part(login)}/permission"

    def comment_reactions(self, comment: int) -> str:
        """Return the address of the reactions to a comment."""
        return f"{self.comment('comments', comment)}/reactions"

    def inline_reactions(self, comment: int) -> str:
        """Return the address of the reactions to a comment on a line."""
        return f"{self.comment('inline', comment)}/reactions"

    def label(self, number: int, name: str) -> str:
        """Return the address of one label of a pull request."""
        return f"{self.issue(number)}/labels/{_part(name)}"


def full_pages(url: str) -> str:
    """Return the address of a list with pages as long as they can be."""
    return f"{url}?per_page={PAGE_SIZE}"


@dataclass(frozen=True)
class ReviewThread:
    """A thread of a pull request, by its GraphQL id."""

    id: str
    resolved: bool


def threads_query(full_name: str, number: int, after: str | None) -> Mapping[str, Json]:
    """Return the query for a page of a pull request's threads."""
    owner, _, name = full_name.partition("/")
    return {"query": _THREADS, "variables": {"owner": owner, "name": name, "number": number, "after": after}}


def resolve_mutation(thread: str) -> Mapping[str, Json]:
    """Return the mutation that resolves a thread."""
    return {"query": _RESOLVE, "variables": {"id": thread}}


def ready_mutation(pull_request: str) -> Mapping[str, Json]:
    """Return the mutation that takes a pull request out of draft."""
    return {"query": _READY, "variables": {"id": pull_request}}


def editor_query(node: str) -> Mapping[str, Json]:
    """Return the query for the body of a pull request or a comment, and who edited it last: REST does not say it."""
    return {"query": _EDITOR, "variables": {"id": node}}


def find_thread(page: Json, root: int) -> ReviewThread | None:
    """Return the thread that begins with this comment, if it is on the page."""
    for node in answers.items(page, "nodes"):
        first = answers.items(node, "comments", "nodes")[:1]
        if first and answers.text(first[0], "fullDatabaseId") == str(root):
            return ReviewThread(answers.text(node, "id"), resolved=answers.value_at(node, "isResolved") is True)
    return None


def next_threads_page(page: Json) -> str | None:
    """Return the cursor of the next page, or None where there is none."""
    info = answers.value_at(page, "pageInfo")
    if answers.value_at(info, "hasNextPage") is True:
        return answers.text(info, "endCursor") or None
    return None


def graphql_error(answer: Json) -> tuple[str, str] | None:
    """Return kind and words of the first error of an answer, which is a 200 all the same; None if all went well."""
    errors = answers.items(answer, "errors")
    if not errors:
        return None
    return answers.text(errors[0], "type"), " ".join(answers.text(errors[0], "message").split())[:400]


def _since(since: str) -> str:
    return urlencode({"since": since, "sort": "updated", "direction": "asc", "per_page": PAGE_SIZE})


def _part(text: str) -> str:
    if text not in {".", ".."}:
        return quote(text, safe="")
    return "%2E" * len(text)
