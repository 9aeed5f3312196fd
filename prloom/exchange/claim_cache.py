"""Remember what this client claimed: how those messages stand is known, as they are nobody else's.

A message that is leased changes only together with its active claim. So if the claim is active still, what is decided
on how the message stood when it was claimed is right, and nothing need be read to settle it; if not, the store looks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prloom.exchange.claim import Claim, Delivery
    from prloom.exchange.protocol import ClaimTaken

_MOST = 10_000  # claims of one client that are remembered; for more, a store looks


@dataclass(frozen=True)
class CachedClaim:
    """A claim, how its message stands, and its conversation."""

    claim: Claim
    delivery: Delivery
    conversation_id: str


class ClaimCache:
    """What this client claimed and did not settle yet, without the bodies, which may be large."""

    def __init__(self) -> None:
        self._holds: OrderedDict[str, CachedClaim] = OrderedDict()

    def hold(self, taken: ClaimTaken) -> None:
        """Remember a claim."""
        self._holds[taken.claim.id] = CachedClaim(taken.claim, taken.delivery, taken.message.conversation_id)
        while len(self._holds) > _MOST:
            self._holds.popitem(last=False)

    def find(self, claim_id: str) -> CachedClaim | None:
        """Return a claim that is remembered."""
        return self._holds.get(claim_id)

    def let_go(self, claim_id: str) -> None:
        """Forget a claim."""
        self._holds.pop(claim_id, None)
