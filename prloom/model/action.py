"""What goes out: an action for a bridge, and the payloads it may carry."""

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from prloom.model.event import Target
from prloom.model.record import Json, Record

Method = Literal["merge", "squash", "rebase"]


# With omit_defaults a `commit` of None is not written, and what these functions make always is; see `Event`.


def _merge() -> Method:
    return "merge"


def _none() -> tuple[Mapping[str, Json], ...]:
    return ()


class Comment(Record, frozen=True, omit_defaults=True, tag_field="type", tag="comment"):
    """Say something in the conversation, or in the thread that the target names.

    `appends_to` is the action to whose post it is added, if that is there. A bridge gets the remote id of that post,
    and may post the message as one of its own.
    """

    message: str
    appends_to: str | None = None


class InlineComment(Record, frozen=True, omit_defaults=True, tag_field="type", tag="inline_comment"):
    """Say something about one line of a file, as it is in `commit`; prloom fills that in where it is left out."""

    path: str
    line: int
    message: str
    commit: str | None = None


class Review(Record, frozen=True, omit_defaults=True, tag_field="type", tag="review"):
    """Review the pull request: `verdict` is approve, request_changes or comment.

    `commit` is the commit that was reviewed; prloom fills it in where it is left out.
    """

    verdict: Literal["approve", "request_changes", "comment"]
    summary: str = field(default_factory=str)
    comments: tuple[Mapping[str, Json], ...] = field(default_factory=_none)
    commit: str | None = None


class RequestReviewers(Record, frozen=True, tag_field="type", tag="request_reviewers"):
    """Ask these people for a review."""

    reviewers: tuple[str, ...]


class Merge(Record, frozen=True, omit_defaults=True, tag_field="type", tag="merge"):
    """Merge the pull request, and only if its head is `commit`; prloom fills that in where it is left out."""

    method: Method = field(default_factory=_merge)
    commit: str | None = None


class ClosePr(Record, frozen=True, tag_field="type", tag="close_pr"):
    """Close the pull request without merging it."""


class AddLabels(Record, frozen=True, tag_field="type", tag="add_labels"):
    """Put labels on the pull request."""

    labels: tuple[str, ...]


class RemoveLabels(Record, frozen=True, tag_field="type", tag="remove_labels"):
    """Take labels off the pull request."""

    labels: tuple[str, ...]


class AssignUsers(Record, frozen=True, tag_field="type", tag="assign_users"):
    """Assign these people."""

    users: tuple[str, ...]


class SetMilestone(Record, frozen=True, tag_field="type", tag="set_milestone"):
    """Put the pull request into a milestone."""

    milestone: str


class ResolveThread(Record, frozen=True, tag_field="type", tag="resolve_thread"):
    """Mark the conversation that the target names as resolved."""


class React(Record, frozen=True, tag_field="type", tag="react"):
    """Acknowledge with a reaction."""

    reaction: str


class UpsertPlan(Record, frozen=True, tag_field="type", tag="upsert_plan"):
    """Write or replace a plan."""

    source: str
    title: str
    plan_markdown: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    status: str | None = None
    hidden: bool = False


Payload = (
    Comment
    | InlineComment
    | Review
    | RequestReviewers
    | Merge
    | ClosePr
    | AddLabels
    | RemoveLabels
    | AssignUsers
    | SetMilestone
    | ResolveThread
    | React
    | UpsertPlan
)


class Action(Record, frozen=True, kw_only=True):
    """One thing to do at a target, exactly once.

    The id is derived from event, plugin and ordinal when the action is committed; until then it is empty.
    """

    id: str = ""
    type: Literal["respond"] = "respond"
    target: Target
    payload: Payload
    related_event_id: str | None = None

    @property
    def kind(self) -> str:
        """What it does, by the payload's name on the wire."""
        return str(type(self.payload).__struct_config__.tag)

    @property
    def has_words(self) -> bool:
        """Whether it posts words: what it says to somebody, not what it does to the pull request."""
        return isinstance(self.payload, Comment | InlineComment | Review)
