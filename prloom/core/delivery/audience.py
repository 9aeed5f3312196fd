"""Decide by whom a reply answers whether it is sent, waits for a person, or is not sent: `[outbox]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prloom.core import trust
from prloom.core.trust import Policy, Trusted
from prloom.model.action import Action
from prloom.model.decision import DecisionParts, DeliveryChange
from prloom.model.event import Event

Audience = Literal["trusted", "others", "bots"]
"""Whom a reply answers: a trusted person, anybody else, or a bot."""

Posting = Literal["auto", "draft", "never"]
"""What becomes of a reply: it is sent, or waits in `prloom outbox`, or is dropped."""


@dataclass(frozen=True, kw_only=True)
class PostingRules:
    """What becomes of a reply to each audience."""

    trusted: Posting = "auto"
    others: Posting = "draft"
    bots: Posting = "never"

    def of(self, audience: Audience) -> Posting:
        """Return what becomes of a reply to an audience."""
        match audience:
            case "trusted":
                return self.trusted
            case "others":
                return self.others
            case "bots":
                return self.bots


def audience(event: Event | None, policy: Policy, *, admitted: bool, vouched: bool) -> Audience:
    """Return whom a reply to an event answers; an event without an author speaks for the operator.

    `admitted` says that it was let in, `vouched` that only its text was approved. A report is about the pull request,
    whichever program wrote it.
    """
    if event is None or event.author is None:
        return "trusted"
    if event.author.bot and event.spoken:
        return "bots"
    if vouched:
        return "others"
    if admitted or event.author.bot or isinstance(trust.judge(event, policy), Trusted):
        return "trusted"
    return "others"


def apply(parts: DecisionParts, of: Callable[[Action], Audience], posting: PostingRules) -> None:
    """Let the replies of a decision wait, or end them, that are not to be sent to those whom they answer."""
    drafts, ended = list(parts.get("drafts", ())), list(parts.get("deliveries", ()))
    for action in (each for each in parts.get("actions", ()) if each.has_words):
        answered = of(action)
        match posting.of(answered):
            case "draft" if action.id not in drafts:
                drafts.append(action.id)
            case "never":
                ended.append(dropped(action, answered))
    if drafts:
        parts["drafts"] = tuple(drafts)
    if ended:
        parts["deliveries"] = tuple(ended)


def dropped(action: Action, of: Audience) -> DeliveryChange:
    """Return the end of a reply that is never sent."""
    return DeliveryChange(
        action_id=action.id,
        state="dropped",
        attempts=0,
        error=f"not sent, for outbox.{of} is never",
    )
