"""Be what the bridge remembers between polls: where it is in each list, and how each pull request was seen last."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from prloom.api import Json

REMEMBERED = 2000
"""Posts whose last version is remembered, so that an edit can name what it takes the place of."""


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Feed(_Part):
    """A list that is read on: from when, and the tag of the answer to the question that asks from then."""

    since: str = ""
    etag: str | None = None


class Checks(_Part):
    """How the checks of a head stood, by what was asked for ("checks", "status"): tags and prints of the answers.

    `told` are the failures that are events already, by their ids. While it is hot, it is looked at by each poll.
    """

    tags: dict[str, str] = {}
    prints: dict[str, str] = {}
    running: dict[str, int] = {}
    told: list[str] = []
    at: str = ""
    hot_until: str = ""


class Seen(_Part):
    """A pull request as it was seen last, and the tags of its reviews and of itself. `conflict` None: unknown."""

    head: str = ""
    base: str = ""
    state: str = "open"
    updated: str = ""
    conflict: bool | None = None
    fork: bool = False
    author: str = ""
    reviews: str | None = None
    alone: str | None = None
    checks: Checks = Checks()


class Cursor(_Part):
    """All of it.

    `pushed` is when the repository was pushed to last, `push_seen` that it was since its `bases` (their commits, by
    name) were looked at. `reviews_due`, `merges_due` and `checks_due` are pull requests that are still to be looked at;
    that of merges counts how often GitHub had not worked it out. `closed_eyes` says until when what the token may not
    see is not asked for.
    """

    comments: Feed = Feed()
    inline: Feed = Feed()
    pulls: Feed = Feed()
    actions: Feed = Feed()
    pushed: str = ""
    push_seen: bool = False
    bases: dict[str, str] = {}
    turn: int = 0
    pull_requests: dict[int, Seen] = {}
    posts: dict[str, tuple[str, str]] = {}
    reviews_due: list[int] = []
    merges_due: dict[int, int] = {}
    checks_due: list[int] = []
    closed_eyes: dict[str, str] = {}

    def remember(self, key: str, event_id: str, digest: str) -> None:
        """Keep the last version of a post; the oldest are forgotten."""
        self.posts.pop(key, None)
        self.posts[key] = (event_id, digest)
        while len(self.posts) > REMEMBERED:
            del self.posts[next(iter(self.posts))]

    def keep_only(self, tracked: set[int]) -> None:
        """Forget the pull requests that are looked after no more."""
        self.pull_requests = {number: seen for number, seen in self.pull_requests.items() if number in tracked}
        self.reviews_due = [number for number in self.reviews_due if number in tracked]
        self.merges_due = {number: tries for number, tries in self.merges_due.items() if number in tracked}
        self.checks_due = [number for number in self.checks_due if number in tracked]


def read(state: Json) -> Cursor:
    """Return the cursor that was stored; one that cannot be read is as none: what is known is known by its id."""
    try:
        return Cursor.model_validate(state if isinstance(state, dict) else {})
    except ValidationError:
        return Cursor()


def write(cursor: Cursor) -> Json:
    """Return the cursor as it is stored."""
    return cursor.model_dump(mode="json", by_alias=True, exclude_defaults=True)
