"""What an endpoint is given: the request, taken apart, and the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .exchange import Json, Refusal, read_stamp
from .things import Account, Issue, Pull
from .world import World


@dataclass(frozen=True)
class Call:
    """One request to one endpoint, by `viewer` (None: nobody said who).

    `permissions` None: the token is a classic one and may what its account may.
    """

    world: World
    viewer: Account | None
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Json
    now: datetime
    permissions: Mapping[str, str] | None = None

    @property
    def writer(self) -> Account:
        """The viewer, who must be somebody."""
        if self.viewer is None:
            raise Refusal(401, "Requires authentication")
        return self.viewer

    @property
    def issue(self) -> Issue:
        return self.world.issue(int(self.params["issue_number"]))

    @property
    def pull(self) -> Pull:
        return self.world.pull(int(self.params["pull_number"]))

    @property
    def since(self) -> datetime | None:
        return read_stamp(self.query["since"]) if "since" in self.query else None

    def needs(self, role: str) -> Account:
        """Return the viewer; refuse with 403 whose role is below this one."""
        if not self.writer.may(role):
            raise Refusal(403, "Resource not accessible by personal access token")
        return self.writer

    def granted(self, *needs: str) -> bool:
        """Return whether the token has one of these permissions, written as `issues=write`, or none are needed."""
        if self.permissions is None or not needs:
            return True
        held = {"metadata": "read", **self.permissions}
        pairs = (need.split("=") for need in needs)
        return any(held.get(area) in ({"read", "write"} if least == "read" else {"write"}) for area, least in pairs)

    def owns(self, author: Account) -> Account:
        """Return the viewer; refuse with 403 who is neither the author nor may write."""
        return self.writer if self.writer is author else self.needs("write")

    def unlocked(self, issue: Issue) -> None:
        """Refuse with 403 to write where the conversation is locked."""
        if issue.locked:
            raise Refusal(403, "Unable to create comment because issue is locked.")
