"""What a repository on GitHub is made of, as records that the fake keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

ROLES = ("none", "read", "triage", "write", "maintain", "admin")


class Changes:
    """How often an attribute of anything here was set: what was remembered before is not true any more."""

    count = 0


class Thing:
    """What the fake keeps; a test may set its attributes, and the next answer has what it set."""

    def __setattr__(self, name: str, value: Any) -> None:
        Changes.count += 1
        super().__setattr__(name, value)


@dataclass(eq=False, kw_only=True)
class Account(Thing):
    """Who can write. `hint` is what `author_association` says, whatever the permission is."""

    login: str
    id: int
    type: str = "User"
    role: str = "none"
    hint: str | None = None
    exists: bool = True

    def may(self, role: str) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(eq=False, kw_only=True)
class Token(Thing):
    """What a client proves its account with; `permissions` None: a classic token, which may what its account may."""

    value: str
    account: Account
    kind: str = "user"
    permissions: Mapping[str, str] | None = None


@dataclass(eq=False, kw_only=True)
class Repository(Thing):
    """A repository or a fork of it."""

    id: int
    owner: Account
    name: str
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    fork: bool = False
    private: bool = False
    default_branch: str = "main"
    merge_methods: tuple[str, ...] = ("merge", "squash", "rebase")
    branches: dict[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(eq=False, kw_only=True)
class Label(Thing):
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(eq=False, kw_only=True)
class Milestone(Thing):
    id: int
    number: int
    title: str
    creator: Account
    created_at: datetime
    state: str = "open"


@dataclass(eq=False, kw_only=True)
class Reaction(Thing):
    id: int
    user: Account
    content: str
    created_at: datetime


@dataclass(eq=False, kw_only=True)
class Post(Thing):
    """What somebody wrote; `editor` is who edited its text last, at `edited_at`."""

    id: int
    author: Account
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)
    editor: Account | None = None
    edited_at: datetime | None = None


@dataclass(eq=False, kw_only=True)
class Issue(Post):
    """An issue; a pull request is one too."""

    number: int
    title: str
    state: str = "open"
    state_reason: str | None = None
    locked: bool = False
    lock_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: Account | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[Account] = field(default_factory=list)
    milestone: Milestone | None = None


@dataclass(frozen=True, kw_only=True)
class FileDiff:
    """One hunk of a file: the lines `old` were replaced by the lines `new`, both first and last, 1-based."""

    path: str
    new: tuple[int, int] = (1, 20)
    old: tuple[int, int] | None = None


@dataclass(eq=False, kw_only=True)
class Side(Thing):
    """Head or base of a pull request; a head whose fork was deleted has no repository."""

    ref: str
    sha: str
    user: Account
    repository: Repository | None


@dataclass(eq=False, kw_only=True)
class Pull(Issue):
    """A pull request."""

    head: Side
    base: Side
    draft: bool = False
    conflict: bool = False
    computed_from: datetime
    merged_at: datetime | None = None
    merged_by: Account | None = None
    merge_sha: str | None = None
    files: dict[str, FileDiff] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    reviewers: list[Account] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class IssueComment(Post):
    issue: Issue


@dataclass(eq=False, kw_only=True)
class Review(Post):
    """A review; without `submitted_at` it is a draft that its author alone sees."""

    pull: Pull
    state: str
    commit: str
    submitted_at: datetime | None = None


@dataclass(eq=False, kw_only=True)
class Thread(Thing):
    id: int
    pull: Pull
    resolved_by: Account | None = None


@dataclass(eq=False, kw_only=True)
class ReviewComment(Post):
    """A comment on a line (None: the line is no longer in the diff) or on a file as a whole."""

    pull: Pull
    review: Review
    thread: Thread
    path: str
    line: int | None
    original_line: int | None
    side: str
    commit: str
    original_commit: str
    hunk: str
    start_line: int | None = None
    start_side: str | None = None
    subject: str = "line"
    reply_to: int | None = None


@dataclass(eq=False, kw_only=True)
class Status(Thing):
    """The result that an outside system gave to a commit by the older of the two interfaces."""

    id: int
    sha: str
    context: str
    state: str
    description: str | None
    creator: Account
    created_at: datetime


@dataclass(eq=False, kw_only=True)
class CheckRun(Thing):
    """The result of a check; `log` is that of its job if GitHub Actions ran it, and then `id` is the job's id too."""

    id: int
    suite: int
    run: int | None
    sha: str
    branch: str
    name: str
    app: str
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    title: str | None = None
    summary: str | None = None
    log: str | None = None
