"""One piece of feedback about a pull request, as a bridge or another program reported it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from msgspec import Meta, field

from prloom.model import kinds
from prloom.model.kinds import Kind
from prloom.model.record import Json, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
LONGEST_ID = 512
"""The most characters of an event's id."""

EventId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]


class Target(Record, frozen=True):
    """Where a reply goes: the name a bridge claims, and a token that only that bridge reads."""

    target: Annotated[str, Meta(min_length=1)]
    token: Json = None


class Author(Record, frozen=True):
    """Who wrote it; `trust` is the permission that the source looked up, None where it is not known."""

    login: Annotated[str, Meta(min_length=1)]
    trust: str | None = None
    bot: bool = False


def _info() -> Severity:
    return "info"


def _empty() -> Mapping[str, Json]:
    return {}


class Event(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One event of the bus; two events with one id are the same event.

    `created_at` is a text as the source wrote it, so that a malformed one loses no event: `record.read_time` reads it.
    What is None is not written, everything else always is: msgspec leaves out defaults, but none that a function of
    ours makes. So an event is encoded as it is, and the lines of a page in one go.
    """

    id: EventId
    source: str
    type: str
    severity: Severity = field(default_factory=_info)
    title: str = field(default_factory=str)
    body: str = field(default_factory=str)
    reply_to: Target | None = None
    context: Mapping[str, Json] = field(default_factory=_empty)
    author: Author | None = None
    url: str | None = None
    created_at: str | None = None
    pr: int | None = None

    @property
    def supersedes(self) -> str | None:
        """The id of the event that this one is an edit of (`context.supersedes`)."""
        older = self.context.get("supersedes")
        if isinstance(older, str):
            return older
        return None

    @property
    def kind(self) -> Kind:
        """What the event's type means."""
        return kinds.kind(self.type, by_person=self.author is not None and not self.author.bot)

    @property
    def spoken(self) -> bool:
        """Whether the body is a person's own words, and not a log or a report."""
        return self.kind.speech

    @property
    def own_account(self) -> bool:
        """Whether a bridge says that the account by which prloom posts wrote it (`context.ownAccount`)."""
        return self.context.get("ownAccount") is True

    @property
    def notice(self) -> bool:
        """Whether the event only reports that something happened: it has no author's words, and needs no answer."""
        return self.author is None and self.kind.notice and not self.body.strip()

    @property
    def deletes(self) -> str | None:
        """The id of the event whose comment was deleted, if that is what this event reports."""
        if self.type == kinds.DELETED and self.notice:
            return self.supersedes
        return None

    @property
    def written_at(self) -> str | None:
        """When the text got its present form: `context.updatedAt`, or its creation; None where an edit does not say."""
        edited = self.context.get("updatedAt")
        if isinstance(edited, str):
            return edited
        if isinstance(self.context.get("supersedes"), str):
            return None
        return self.created_at


def digest(event: Event) -> str:
    """Return the fingerprint of the text that a person approves: title and body, to the letter."""
    text = f"{len(event.title)}\0{event.title}{event.body}"  # the length says where the body begins
    return _sha256()(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@cache
def _sha256() -> Callable[[bytes], _Hash]:
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, 5 ms that the state commands need not pay

    return sha256
