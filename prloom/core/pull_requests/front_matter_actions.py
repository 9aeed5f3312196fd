"""Decide what the front matter of a plan asks of its pull request: labels when it opens, reviewers when it is ready."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.core.delivery import outbox
from prloom.core.plans.front_matter import FrontMatter
from prloom.model.action import Action, AddLabels, Payload, RequestReviewers
from prloom.model.event import Target
from prloom.model.state import QueuedAction

_OWNER = "prloom/plan"
_REVIEWS = 1


def when_opened(plan_id: str, front: FrontMatter, target: Target) -> tuple[Action, ...]:
    """Return the action that puts the plan's labels on its pull request; none where it names none."""
    if not front.labels:
        return ()
    return (_action(plan_id, target, AddLabels(front.labels), 0),)


def when_ready(plan_id: str, front: FrontMatter, target: Target) -> tuple[Action, ...]:
    """Return the action that asks the plan's reviewers for a review; none where it names none."""
    if not front.reviewers:
        return ()
    return (_action(plan_id, target, RequestReviewers(front.reviewers), _REVIEWS),)


def is_review_requested(plan_id: str, queue: Mapping[str, QueuedAction]) -> bool:
    """Whether the request to the reviewers is made, as far as it can be: what was refused waits for a person."""
    queued = queue.get(outbox.action_id(plan_id, _OWNER, _REVIEWS))
    return queued is None or queued.failed or queued.draft


def _action(plan_id: str, target: Target, payload: Payload, ordinal: int) -> Action:
    return Action(id=outbox.action_id(plan_id, _OWNER, ordinal), target=target, payload=payload)
