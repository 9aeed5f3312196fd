"""Be what the bridge remembers between polls: where it is in each list, and how each pull request was seen last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

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


class KnownPost(NamedTuple):
    """Of the last version of a post: the id of its event, the digest of its words, and the pull request it stands on.

    Number 0 stands for none: nobody needs to be told when that post is deleted.
    """

    event: str
    words: str
    pr: int


class Checks(_Part):
    """How the checks of a head stood, by what was asked for ("checks", "status"): tags and prints of the answers.

    `told` are the failures that are events already, by their ids; `at` is when they were looked at last, `moved` when
    something last changed.
    """

    tags: dict[str, str] = {}
    prints: dict[str, str] = {}
    running: dict[str, int] = {}
    told: list[str] = []
    at: str = ""
    moved: str = ""


class SeenPullRequest(_Part):
    """A pull request as it was seen last, and the tags of its reviews and of itself. `conflict` None: unknown.

    `owner` is whose the head repository is: empty where that cannot be known, None in the cursor of an older prloom.
    `plan` is who looks after it, since when. `counts` says how many comments it has, by their kind ("comments",
    "inline"); `looked` in which turn it was looked at for what.
    """

    plan: str = ""
    head: str = ""
    base: str = ""
    state: str = "open"
    updated: str = ""
    conflict: bool | None = None
    fork: bool = False
    owner: str | None = None
    reviews: str | None = None
    alone: str | None = None
    checks: Checks = Checks()
    counts: dict[str, int] = {}
    looked: dict[str, int] = {}


class GithubCursor(_Part):
    """All of it.

    `pushed` is when the repository was pushed to last, `push_seen` that it was since its `bases` (their commits, by
    name) were looked at. `reviews_due`, `merges_due` and `checks_due` are pull requests that are still to be looked at;
    that of merges counts how often GitHub had not worked it out. `deletions_due` are those that have fewer comments of
    a kind than they had. `used` is what was seen to be there at all: "actions", "checks" of other apps, "status".
    `closed_eyes` says until when what the token may not see is not asked for. `missing` are pull requests that were not
    there when they were asked for. `heard_before` are those that are read anew for the plan that has heard them before.
    `renamed` tells what the repository of a name is called now.
    """

    comments: Feed = Feed()
    inline: Feed = Feed()
    pulls: Feed = Feed()
    actions: Feed = Feed()
    pushed: str = ""
    push_seen: bool = False
    bases: dict[str, str] = {}
    turn: int = 0
    pull_requests: dict[int, SeenPullRequest] = {}
    posts: dict[str, KnownPost] = {}
    reviews_due: list[int] = []
    merges_due: dict[int, int] = {}
    checks_due: list[int] = []
    deletions_due: dict[int, list[str]] = {}
    used: list[str] = []
    closed_eyes: dict[str, str] = {}
    missing: list[int] = []
    heard_before: dict[int, str] = {}
    renamed: dict[str, str] = {}

    def notice_time(self, now: str) -> None:
        """Begin anew where a list was to be read from a time to come: whoever began it went by a clock that was ahead.

        What was written by then was not heard, so all pull requests are read again as at first sight.
        """
        if max(self.comments.since, self.inline.since) <= now:
            return
        self.comments, self.inline = Feed(), Feed()
        self.heard_before = {number: seen.plan for number, seen in self.pull_requests.items()}
        self.pull_requests = {}

    def remember(self, key: str, post: KnownPost) -> None:
        """Keep the last version of a post; the oldest are forgotten."""
        self.posts.pop(key, None)
        self.posts[key] = post
        while len(self.posts) > REMEMBERED:
            del self.posts[next(iter(self.posts))]

    def count(self, number: int, kind: str) -> None:
        """Take note that a pull request has one more comment of a kind, where it is counted."""
        if number in self.pull_requests:
            counts = self.pull_requests[number].counts
        else:
            counts = {}
        if kind in counts:
            counts[kind] += 1

    def use(self, what: str, *, there: bool) -> None:
        """Take note that there is such a thing in this repository."""
        if there and what not in self.used:
            self.used.append(what)

    def look_alone(self, numbers: Iterable[int]) -> None:
        """Have pull requests asked for, each alone."""
        self.merges_due |= dict.fromkeys(numbers, 0)

    def miss(self, number: int) -> None:
        """Take note that a pull request is not there, and have it asked for again."""
        if number not in self.missing:
            self.missing.append(number)
        if number in self.pull_requests:
            self.look_alone([number])

    def find(self, number: int) -> None:
        """Take note that a pull request is there, or that nothing more is to be asked about it."""
        self.missing = [each for each in self.missing if each != number]

    def keep_only(self, tracked: Mapping[int, str]) -> None:
        """Forget the pull requests that are looked after no more, or by another plan than they were."""
        kept = {number: seen for number, seen in self.pull_requests.items() if tracked.get(number) == seen.plan}
        self.pull_requests = kept
        self.missing = [number for number in self.missing if number in tracked]
        self.reviews_due = [number for number in self.reviews_due if number in kept]
        self.merges_due = {number: tries for number, tries in self.merges_due.items() if number in kept}
        self.checks_due = [number for number in self.checks_due if number in kept]
        self.deletions_due = {number: kinds for number, kinds in self.deletions_due.items() if number in kept}
        self.heard_before = {number: plan for number, plan in self.heard_before.items() if tracked.get(number) == plan}


def read(state: Json) -> GithubCursor:
    """Return the cursor that was stored; one that cannot be read is as none: what is known is known by its id."""
    try:
        return GithubCursor.model_validate(state if isinstance(state, dict) else {})
    except ValidationError:
        return GithubCursor()


def write(cursor: GithubCursor) -> Json:
    """Return the cursor as it is stored."""
    return cursor.model_dump(mode="json", by_alias=True, exclude_defaults=True)
