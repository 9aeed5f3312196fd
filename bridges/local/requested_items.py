"""Match the items of the file with the requests of earlier polls, so that each item becomes one event."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from prloom.api import Json

from .review import ReviewItem

_REMEMBERED = 200  # requests of one plan whose items are no longer in the file
_DIGITS = 9  # of an ordinal that can be meant

# Which request an item is, of those with the same words: by whether the request is done, and its item was there
# before. An item that is checked or answered goes with one that is done; any other with one that is open. One that is
# open again was overwritten by an editor that had not loaded the check: it is no new request. One that
# was done, taken out, and is written anew is a new request. What is out of the file is also done where prloom says so:
# nobody may have read the file between its answer and its end.
_DONE_FIRST = ((True, True), (True, False), (False, True), (False, False))
_OPEN_FIRST = ((False, True), (False, False), (True, True))

HasEnded = Callable[[str], bool]
"""Whether prloom took the request of this id in, and is through with it."""


def _nothing_has_ended(_: str) -> bool:
    return False


class RequestedItem(NamedTuple):
    """An item that became an event: the digest of its words, and how many requests had the same words before it.

    `done` says that it was checked or answered, `here` that it was in the file at the last poll.
    """

    words: str
    ordinal: int
    done: bool
    here: bool

    @property
    def id(self) -> str:
        """What names the request in events and in their replies."""
        if self.ordinal == 0:
            return self.words
        return f"{self.words}-{self.ordinal}"


class NewItem(NamedTuple):
    """A new request, and the request whose item it replaced, if it is an edit."""

    request: RequestedItem
    item: ReviewItem
    edited: RequestedItem | None


def digest(plan: str, item: ReviewItem) -> str:
    """Return what distinguishes the item's words from others', wherever it is and however its lines are broken."""
    parts = [plan, " ".join(item.text.split()), item.file, item.line, item.side]
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


def by_words(plan: str, items: Iterable[ReviewItem]) -> Mapping[str, Sequence[ReviewItem]]:
    """Return the items by the digest of their words; those checked come first among equals."""
    found: dict[str, list[ReviewItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: not item.checked):
        found[digest(plan, item)].append(item)
    return found


def find(items: Mapping[str, Sequence[ReviewItem]], request: str) -> ReviewItem | None:
    """Return the item of a request from `by_words`, or None if it is no longer in the file."""
    words, _, number = request.partition("-")
    equal = items.get(words, ())
    if not equal:
        return None
    ordinal = 0
    if number.isdecimal() and len(number) <= _DIGITS:
        ordinal = int(number)
    return equal[min(ordinal, len(equal) - 1)]


def update(
    plan: str,
    items: Sequence[ReviewItem],
    stored: Sequence[RequestedItem] | None,
    has_ended: HasEnded = _nothing_has_ended,
) -> tuple[tuple[RequestedItem, ...], tuple[NewItem, ...]]:
    """Return all requests after this reading of the file, and those that are new.

    Where nothing is stored (None), the file alone shows which items were requested before: those with an answer. An
    item without one is not any of the requests that have ended, also where these are not stored any more.
    """
    digests = {item.start: digest(plan, item) for item in items}
    before = _with_ended(stored or (), frozenset(digests.values()), has_ended)
    unmatched = _Unmatched(before)
    now: dict[int, RequestedItem] = {}
    fresh: set[int] = set()
    for item in sorted(items, key=lambda item: not _is_done(item)):
        words = digests[item.start]
        request = unmatched.take(words, _DONE_FIRST if _is_done(item) else _OPEN_FIRST)
        if request is not None:
            now[item.start] = request._replace(done=request.done or _is_done(item), here=True)
        elif not item.checked:
            request = RequestedItem(words, unmatched.next_ordinal(words), _is_done(item), here=True)
            while not request.done and has_ended(request.id):
                request = request._replace(ordinal=unmatched.next_ordinal(words))
            now[item.start] = request
            if stored is not None or not item.answered:
                fresh.add(item.start)
    here = tuple(now[start] for start in sorted(now))
    edits = _edits(before, here)
    new = tuple(NewItem(now[i.start], i, edits.get(now[i.start].id)) for i in items if i.start in fresh)
    return (*here, *_gone(before, here)), new


def _with_ended(
    stored: Sequence[RequestedItem], words: Collection[str], has_ended: HasEnded
) -> tuple[RequestedItem, ...]:
    """Return the stored requests; those out of the file whose words are in it again are done where they have ended."""
    back = {request.id for request in stored if request.words in words and not request.here}
    ended = {request_id for request_id in back if has_ended(request_id)}
    return tuple(request._replace(done=request.done or request.id in ended) for request in stored)


class _Unmatched:
    """The earlier requests that no item has been matched with yet."""

    def __init__(self, requests: Sequence[RequestedItem]) -> None:
        self._waiting: dict[tuple[str, bool, bool], deque[RequestedItem]] = defaultdict(deque)
        self._next: dict[str, int] = defaultdict(int)
        for request in requests:
            self._waiting[request.words, request.done, request.here].append(request)
            self._next[request.words] = max(self._next[request.words], request.ordinal + 1)

    def take(self, words: str, ways: Sequence[tuple[bool, bool]]) -> RequestedItem | None:
        """Take the first request with these words, by these ways in turn."""
        for done, here in ways:
            if self._waiting[words, done, here]:
                return self._waiting[words, done, here].popleft()
        return None

    def next_ordinal(self, words: str) -> int:
        """Count one more request with these words."""
        self._next[words] += 1
        return self._next[words] - 1


def _is_done(item: ReviewItem) -> bool:
    return item.checked or item.answered


def _gone(before: Sequence[RequestedItem], here: Sequence[RequestedItem]) -> tuple[RequestedItem, ...]:
    still = {request.id for request in here}
    away = [request for request in before if request.id not in still]
    longest_first = sorted(away, key=lambda request: request.here)
    return tuple(request._replace(here=False) for request in longest_first)[-_REMEMBERED:]


def _edits(before: Sequence[RequestedItem], here: Sequence[RequestedItem]) -> Mapping[str, RequestedItem]:
    """Return, by the new request's id, which request it is an edit of: one went and one came in the same place."""
    previous = [request for request in before if request.here]
    went = _between(previous, {request.id for request in here})
    came = _between(here, {request.id for request in before})
    edits = {}
    for after, new in came.items():
        old = went.get(after, ())
        if len(new) == len(old) == 1:
            edits[new[0].id] = old[0]
    return edits


def _between(requests: Sequence[RequestedItem], staying: set[str]) -> dict[str, list[RequestedItem]]:
    """Return the requests that do not stay, by the one before them that does."""
    found: dict[str, list[RequestedItem]] = defaultdict(list)
    after = ""
    for request in requests:
        if request.id in staying:
            after = request.id
        else:
            found[after].append(request)
    return found


def load(state: Json) -> tuple[RequestedItem, ...] | None:
    """Return the requests that a cursor holds, or None where it holds none at all.

    What is not a request is left out; its item becomes a new event.
    """
    if not isinstance(state, list | tuple):
        return None
    return tuple(RequestedItem(*each) for each in state if _is_request(each))


def dump(requests: Iterable[RequestedItem]) -> Json:
    """Return the requests as a cursor holds them."""
    return [list(request) for request in requests]


def _is_request(value: Json) -> bool:
    match value:
        case [str(), int(), bool(), bool()]:
            return True
        case _:
            return False
