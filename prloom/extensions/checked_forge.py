"""Call a forge's bridge: what it returns is checked, and what it raises is an error of the bridge."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api.bridge import BridgeContext
from prloom.api.forge import Forge, Issue, PostedComment, PullRequest
from prloom.extensions import bridge_calls, bridge_results


class CheckedForge:
    """Implements `Forge` by another: a result that does not fit the protocol is an ExtensionError."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge

    def unavailable(self) -> str | None:
        """Return in a few words why there is no forge to ask; else None."""
        return self._forge.unavailable()

    async def open_pull_request(
        self, ctx: BridgeContext, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open a pull request, or return the one that is open for the branch."""
        opened = await bridge_calls.wait(
            self._forge.open_pull_request, ctx, branch=branch, base=base, title=title, body=body, draft=draft
        )
        return bridge_results.checked("open_pull_request", opened)

    async def find_pull_request(self, ctx: BridgeContext, branch: str) -> PullRequest | None:
        """Return the pull request of a branch, or None."""
        found = await bridge_calls.wait(self._forge.find_pull_request, ctx, branch)
        return bridge_results.checked("find_pull_request", found)

    async def describe_pull_request(
        self, ctx: BridgeContext, number: int, *, body: str, title: str | None = None, expected: str | None = None
    ) -> str:
        """Replace the body if it is the `expected` one; return it as it is then."""
        shown = await bridge_calls.wait(
            self._forge.describe_pull_request, ctx, number, body=body, title=title, expected=expected
        )
        return bridge_results.checked("describe_pull_request", shown)

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        """Take the pull request out of draft."""
        await bridge_calls.wait(self._forge.mark_ready, ctx, number)

    async def pull_request(self, ctx: BridgeContext, number: int) -> PullRequest | None:
        """Return the pull request, or None where there is none."""
        found = await bridge_calls.wait(self._forge.pull_request, ctx, number)
        return bridge_results.checked("pull_request", found)

    async def open_pull_requests(self, ctx: BridgeContext) -> Sequence[PullRequest]:
        """Return all open pull requests, the oldest first."""
        found = await bridge_calls.wait(self._forge.open_pull_requests, ctx)
        return bridge_results.checked("open_pull_requests", found)

    async def read_issue(self, ctx: BridgeContext, number: int) -> Issue | None:
        """Return the issue, or None where there is none."""
        found = await bridge_calls.wait(self._forge.read_issue, ctx, number)
        return bridge_results.checked("read_issue", found)

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
        """Edit the own comment that begins with this marker, or post it; return it as it is then."""
        posted = await bridge_calls.wait(
            self._forge.upsert_comment, ctx, number, marker=marker, body=body, remote_id=remote_id, expected=expected
        )
        return bridge_results.checked("upsert_comment", posted)

    async def own_login(self, ctx: BridgeContext) -> str | None:
        """Return the login of the account that prloom acts as, or None."""
        return bridge_results.checked("own_login", await bridge_calls.wait(self._forge.own_login, ctx))
