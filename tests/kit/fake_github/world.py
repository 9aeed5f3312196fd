"""All that the fake knows: one repository, its forks, people, issues, posts and results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from .exchange import gone
from .limits import Limits
from .things import (
    Account,
    Changes,
    CheckRun,
    Issue,
    IssueComment,
    Label,
    Milestone,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Status,
    Thread,
    Token,
)

FIRST_ID = 3_000_000_000
"""Above 31 bits, as GitHub's ids have long been."""


@dataclass
class Urls:
    """Where the fake is found: `api` may have a base path, as GitHub Enterprise has; logs are stored elsewhere."""

    api: str = "https://api.github.com"
    web: str = "https://github.com"
    storage: str = "https://productionresults.blob.example"

    @property
    def base_path(self) -> str:
        return urlsplit(self.api).path.rstrip("/")

    @property
    def origin(self) -> str:
        parts = urlsplit(self.api)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def graphql(self) -> str:
        """The path of GraphQL: on Enterprise beside `/api/v3`, not below it."""
        return self.base_path.removesuffix("/v3") + "/graphql"


@dataclass
class World:
    """The state. `version` changes with it: `changed` counts it up, and so does each attribute that is set.

    Where GitHub was seen, or may be thought, to behave in two ways, a field chooses:
    `drafts`: a comment whose author has a draft review is absorbed into it ("absorb") or refused with 422 ("refuse").
    `drafts_readable`: whether its author can read such a comment by its id.
    `ghosts`: what a deleted account left is of nobody ("null") or of the account `ghost` ("named").
    `deletions_told`: whether `updated_at` of a pull request moves when a comment on it is deleted; who measured it
    found that it does not (neomjs/neo#10092, 2026). Its counts of comments, shown with it alone, fall in any case.
    `tells_time`: whether answers have a `Date`, which a proxy before an Enterprise Server may take away.
    """

    urls: Urls
    repository: Repository
    limits: Limits = field(default_factory=Limits)
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    old_names: set[str] = field(default_factory=set)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, IssueComment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    review_comments: dict[int, ReviewComment] = field(default_factory=dict)
    threads: dict[int, Thread] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    milestones: dict[int, Milestone] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    tickets: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    drafts: str = "absorb"
    drafts_readable: bool = False
    ghosts: str = "null"
    deletions_told: bool = False
    tells_time: bool = True
    merge_delay: float = 5.0
    unsettled: dict[int, Pull] = field(default_factory=dict)
    counted: int = 0
    drawn: dict[int, tuple[int, Any]] = field(default_factory=dict)
    last_id: int = FIRST_ID
    last_number: int = 0

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def next_number(self) -> int:
        self.last_number += 1
        return self.last_number

    def next_sha(self) -> str:
        return hashlib.sha1(str(self.next_id()).encode(), usedforsecurity=False).hexdigest()

    @property
    def version(self) -> int:
        return self.counted + Changes.count

    def changed(self) -> None:
        self.counted += 1

    def account(self, login: str) -> Account:
        """Return the account; a name that is new is a person's without any permission."""
        key = login.lower()
        if key not in self.accounts:
            self.accounts[key] = Account(login=login, id=self.next_id() % 100_000_000)
        return self.accounts[key]

    def known(self, login: str) -> Account:
        """Return the account, or refuse with 404."""
        found = self.accounts.get(login.lower())
        if found is None or not found.exists:
            raise gone()
        return found

    def issue(self, number: int) -> Issue:
        if number not in self.issues:
            raise gone()
        return self.issues[number]

    def pull(self, number: int) -> Pull:
        found = self.issue(number)
        if not isinstance(found, Pull):
            raise gone()
        return found

    def pulls(self) -> list[Pull]:
        return [issue for issue in self.issues.values() if isinstance(issue, Pull)]

    def comments_of(self, issue: Issue) -> list[IssueComment]:
        return [comment for comment in self.comments.values() if comment.issue is issue]

    def reviews_of(self, pull: Pull) -> list[Review]:
        return [review for review in self.reviews.values() if review.pull is pull]

    def draft_of(self, pull: Pull, author: Account | None) -> Review | None:
        drafts = (review for review in self.reviews_of(pull) if review.state == "PENDING" and review.author is author)
        return next(drafts, None)

    def visible(self, pull: Pull | None = None) -> Iterable[ReviewComment]:
        """Return the review comments that are not part of a draft."""
        comments = (comment for comment in self.review_comments.values() if comment.review.state != "PENDING")
        return [comment for comment in comments if pull is None or comment.pull is pull]
