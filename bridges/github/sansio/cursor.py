"""Store what the bridge remembers between polls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from prloom.api import Json, iso, moment

from .comment_kinds import COMMENT_KINDS, CommentKind

REMEMBERED = 2000
"""Posts whose last version is remembered, so that an edit can name the version that it supersedes."""
CHECK_KINDS = ("checks", "status")

ACTIVE = timedelta(minutes=30)
"""How long after a push, or after the last change of its checks, a pull request's checks are read in each poll.

Also, a pull request that was quiet for less than this counts as active.
"""
_LONGEST_RUN = timedelta(hours=6)
"""How long after its last change a check may still run: as long as a job of GitHub Actions may last."""

_STORED_NAMES = {
    "changed_at": "moved",
    "denied_until": "closedEyes",
    "etags": "tags",
    "fingerprints": "prints",
    "last_read": "looked",
    "mergeability_due": "mergesDue",
    "own_etag": "alone",
    "poll_number": "turn",
    "push_pending": "pushSeen",
    "read_at": "at",
    "read_for": "heardBefore",
    "reported": "told",
    "reviews_etag": "reviews",
}
"""The names in stored cursors, where they are not the attributes'."""


def _stored_name(attribute: str) -> str:
    return _STORED_NAMES.get(attribute) or to_camel(attribute)


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=_stored_name, populate_by_name=True, extra="ignore")


class Feed(_Part):
    """A list that is read on: from which time, and the tag of the answer to that request."""

    since: str = ""
    etag: str | None = None


class StoredPost(NamedTuple):
    """The last version of a post: the id of its event, the digest of its text, and its pull request.

    Number 0 means no pull request: the deletion of that post needs no event.
    """

    event: str
    digest: str
    pr: int


class ChecksState(_Part):
    """The checks of a head, by their kind ("checks", "status"): tags and fingerprints of the answers.

    `reported` are the ids of the failures that are events already; `failed` is the event of the last failure of each
    check that has not passed since. `read_at` is when they were read last, `changed_at` when something last changed.
    """

    etags: dict[str, str] = {}
    fingerprints: dict[str, str] = {}
    running: dict[str, int] = {}
    reported: list[str] = []
    failed: dict[str, str] = {}
    read_at: str = ""
    changed_at: str = ""

    def begin(self, now: datetime) -> None:
        """Note that the checks of a new head will begin soon."""
        self.changed_at = iso(now)

    def active_kinds(self, now: datetime) -> Sequence[str]:
        """Return the kinds to read in each poll: all for a while after the last change, and then those that run."""
        quiet = _LONGEST_RUN
        if self.changed_at:
            quiet = now - moment(self.changed_at)
        if quiet < ACTIVE:
            return CHECK_KINDS
        if quiet < _LONGEST_RUN:
            return tuple(kind for kind in CHECK_KINDS if self.running.get(kind))
        return ()


class PullRequestState(_Part):
    """A pull request as of the last poll, and the tags of its reviews and of itself. `conflict` None: unknown.

    `owner` is the owner of the head repository: empty where that cannot be known, None in the cursor of an older
    prloom. `plan` is the plan that tracks it, and since when. `counts` is the number of its comments, by their kind;
    `last_read` in which poll it was read for what. `conflict_event` is the event of its last conflict, until that is
    resolved. `boxes` are those of the cockpit that are ticked and reported, by
    the GraphQL id of the text that they stand in.
    """

    plan: str = ""
    head: str = ""
    base: str = ""
    state: str = "open"
    updated: str = ""
    conflict: bool | None = None
    conflict_event: str | None = None
    fork: bool = False
    owner: str | None = None
    reviews_etag: str | None = None
    own_etag: str | None = None
    checks: ChecksState = ChecksState()
    counts: dict[CommentKind, int] = {}
    boxes: dict[str, list[str]] = {}
    last_read: dict[str, int] = {}


class GithubCursor(_Part):
    """All that the bridge remembers.

    `pushed` is when the repository was pushed to last, `push_pending` that it was since its `bases` (their commits, by
    name) were read. `reviews_due`, `mergeability_due` and `checks_due` are pull requests that are still to be read;
    that of mergeability counts how often GitHub had not computed it. `deletions_due` are those that have fewer comments
    of a kind than they had. `boxes_due` are the texts in which a box was ticked, by their GraphQL ids, with the
    numbers of their pull requests. `used` is what the repository was found to have: "actions", "checks" of other apps,
    "status".
    `denied_until` says until when the bridge does not request what the token may not read. `missing` are pull requests
    that GitHub did not find. `read_for` are those that are read anew for the plan that has read them before. `renamed`
    maps a name of the repository to its present one.
    """

    comments: Feed = Feed()
    inline: Feed = Feed()
    pulls: Feed = Feed()
    actions: Feed = Feed()
    pushed: str = ""
    push_pending: bool = False
    bases: dict[str, str] = {}
    poll_number: int = 0
    pull_requests: dict[int, PullRequestState] = {}
    posts: dict[str, StoredPost] = {}
    reviews_due: list[int] = []
    mergeability_due: dict[int, int] = {}
    checks_due: list[int] = []
    deletions_due: dict[int, list[CommentKind]] = {}
    boxes_due: dict[str, int] = {}
    used: list[str] = []
    denied_until: dict[str, str] = {}
    missing: list[int] = []
    read_for: dict[int, str] = {}
    renamed: dict[str, str] = {}

    @property
    def open_pull_requests(self) -> Mapping[int, PullRequestState]:
        """The pull requests that were open in the last poll."""
        return {number: state for number, state in self.pull_requests.items() if state.state == "open"}

    @property
    def comment_feeds(self) -> Mapping[CommentKind, Feed]:
        """The feeds of comments, each the attribute of its kind's name."""
        return {kind: getattr(self, kind) for kind in COMMENT_KINDS}

    def start_over_from_future(self, now: str) -> None:
        """Start over if a list was to be read from a future time: an earlier clock was ahead.

        What was written by then was not read, so all pull requests are read again as for the first time.
        """
        if max(feed.since for feed in self.comment_feeds.values()) <= now:
            return
        for kind in COMMENT_KINDS:
            setattr(self, kind, Feed())
        for number in list(self.pull_requests):
            self.start_over(number)

    def start_over(self, number: int, *, anew: bool = False) -> None:
        """Read a pull request again as for the first time; `anew`: as if its plan had read nothing of it yet."""
        state = self.pull_requests.pop(number, None)
        if state is not None and not anew:
            self.read_for[number] = state.plan
        self._forget_due()

    def read_before(self, numbers: Iterable[int]) -> list[int]:
        """Return those of the pull requests that were read before."""
        return [number for number in numbers if number in self.pull_requests]

    def remember(self, key: str, post: StoredPost) -> None:
        """Keep the last version of a post; the oldest are forgotten."""
        self.posts.pop(key, None)
        self.posts[key] = post
        while len(self.posts) > REMEMBERED:
            del self.posts[next(iter(self.posts))]

    def count(self, number: int, kind: CommentKind | None) -> None:
        """Count one more comment of a kind on a pull request, where that kind is counted; None: it is no comment."""
        state = self.pull_requests.get(number)
        if state is not None and kind in state.counts:
            state.counts[kind] += 1

    def use(self, what: str, *, there: bool) -> None:
        """Note that the repository has such a thing."""
        if there and what not in self.used:
            self.used.append(what)

    def mark_mergeability_due(self, numbers: Iterable[int]) -> None:
        """Make pull requests due to be read alone, which shows whether they can be merged."""
        self.mergeability_due |= dict.fromkeys(numbers, 0)

    def add_missing(self, number: int) -> None:
        """Note that GitHub did not find a pull request, and make it due again."""
        if number not in self.missing:
            self.missing.append(number)
        if number in self.pull_requests:
            self.mark_mergeability_due([number])

    def remove_missing(self, number: int) -> None:
        """Note that GitHub found a pull request, or that it need not be read any more."""
        self.missing = [each for each in self.missing if each != number]

    def keep_only(self, tracked: Mapping[int, str]) -> None:
        """Forget the pull requests that are tracked no more, or by another plan than before."""
        kept = {number: state for number, state in self.pull_requests.items() if tracked.get(number) == state.plan}
        self.pull_requests = kept
        self.missing = [number for number in self.missing if number in tracked]
        self._forget_due()
        self.read_for = {number: plan for number, plan in self.read_for.items() if tracked.get(number) == plan}

    def _forget_due(self) -> None:
        """Forget what is due of pull requests that are not known: they are read as for the first time."""
        kept = self.pull_requests
        self.reviews_due = self.read_before(self.reviews_due)
        self.mergeability_due = {number: tries for number, tries in self.mergeability_due.items() if number in kept}
        self.checks_due = self.read_before(self.checks_due)
        self.deletions_due = {number: kinds for number, kinds in self.deletions_due.items() if number in kept}
        self.boxes_due = {node: number for node, number in self.boxes_due.items() if number in kept}


def load(stored: Json) -> GithubCursor:
    """Return the stored cursor, or a new one if it cannot be read: prloom drops events that it has by their ids."""
    try:
        return GithubCursor.model_validate(stored)
    except ValidationError:
        return GithubCursor()


def dump(cursor: GithubCursor) -> Json:
    """Return the cursor as JSON."""
    return cursor.model_dump(mode="json", by_alias=True, exclude_defaults=True)
