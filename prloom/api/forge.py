"""What a bridge to a forge does besides: it opens, finds, describes and reads pull requests, and reads issues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from prloom.api.bridge import BridgeContext


@dataclass(frozen=True)
class PullRequest:
    """A pull request as its forge has it. `state` is open, closed or merged; `ref` is what to fetch its head by.

    `fork` says that the head is in another repository. `edited_by` is the login of the last editor of the
    body: None where nobody has edited it, or the forge was not asked for it.
    """

    number: int
    title: str
    body: str
    branch: str
    base: str
    state: str
    url: str
    head: str
    draft: bool = False
    ref: str | None = None
    fork: bool = False
    author: str | None = None
    labels: tuple[str, ...] = ()
    edited_by: str | None = None


@dataclass(frozen=True)
class Issue:
    """An issue as its forge has it. `state` is open or closed; `author` is None where the account is gone."""

    number: int
    title: str
    body: str
    author: str | None
    url: str
    state: str


@dataclass(frozen=True)
class PostedComment:
    """A comment that prloom keeps up to date; `remote_id` is what the forge calls it."""

    remote_id: str
    url: str | None
    body: str


@runtime_checkable
class Forge(Protocol):
    """A bridge to a forge. A method raises where the forge does not do it; the text says what to do next.

    No forge compares and writes in one step. Where a method takes what it `expected` to find, it reads, compares and
    writes: what a person saves between the two requests, a fraction of a second, is overwritten. The forge's own
    history of edits has it then.
    """

    def unavailable(self) -> str | None:
        """Return in a few words why there is no forge to ask, such as that no repository is configured; else None.

        prloom calls this before it opens a pull request; nothing is asked of the forge.
        """

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open a pull request, or return the one that is open for the branch, whatever its base is."""

    async def find_pull_request(self, ctx: BridgeContext, branch: str) -> PullRequest | None:
        """Return the pull request of a branch of the repository: one that is open, else the latest, else None."""

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        """Replace the body, and the title where there is one; nothing if the body is not the `expected` one.

        Return the body as it is then: where it is not `body`, merge the two and describe the pull request again.
        """

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        """Take the pull request out of draft."""

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        """Return the pull request with the last editor of its body, or None where the forge says that there is none."""

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        """Return all open pull requests, the oldest first; where nothing has changed, this costs next to nothing."""

    async def read_issue(self, ctx: BridgeContext, number: int) -> Issue | None:
        """Return the issue, or None where the forge has no issue of this number."""

    async def upsert_comment(
        self,
        ctx: BridgeContext,
        number: int,
        *,
        marker: str,
        body: str,
        remote_id: str | None = None,
        expected: str | None = None,
    ) -> PostedComment:
        """Edit the own comment that begins with this marker, or post it; nothing if it is not the `expected` one.

        `remote_id` is that of the comment, where it is known. Return the comment as it is then.
        """

    async def own_login(self, ctx: BridgeContext) -> str | None:
        """Return the login of the account that prloom acts as, or None where the forge does not say it."""
