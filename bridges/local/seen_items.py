"""Know which items were asked already, so that each comes once, however the file is edited."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from prloom.api import Json

from .item import ReviewItem

_REMEMBERED = 200  # requests of one plan whose items are no longer in the file
_DIGITS = 9  # of an ordinal that can be meant

# Which request an item is, of those with the same words: by whether the request is done, and its item was there
# before. An item that is dealt with goes with one that is done; one that is not, with one that is open. One that is
# open again in its place was overwritten by an editor that had not seen the check: it is not asked again. One that
# was done, taken out, and is written anew is a new request.
_DEALT_WITH = ((True, True), (True, False), (False, True), (False, False))
_OPEN = ((False, True), (False, False), (True, True))


class RequestedItem(NamedTuple):
    """An item that was asked: the digest of its words, and how many with the same words were asked before it.

    `done` says that it was seen checked or answered, `here` that it stood in the file at the last look.
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


class NewItems(NamedTuple):
    """A request that is asked for the first time, and the one whose item it took the place of, if it is an edit."""

    request: RequestedItem
    item: ReviewItem
    edited: RequestedItem | None


def digest(plan: str, item: ReviewItem) -> str:
    """Return what tells the item's words from others', wherever it stands and however its lines are broken."""
    said = [plan, " ".join(item.text.split()), item.file, item.line, item.side]
    return sha256(json.dumps(said).encode()).hexdigest()[:16]


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


def look(
    plan: str, items: Sequence[ReviewItem], known: Sequence[RequestedItem] | None
) -> tuple[tuple[RequestedItem, ...], tuple[NewItems, ...]]:
    """Return the requests that are known after this look at the file, and those that are new.

    Where nothing is known (None), the file alone tells what was asked before: what has an answer was.
    """
    first, known = known is None, known or ()
    left = _Left(known)
    now: dict[int, RequestedItem] = {}
    fresh: set[int] = set()
    for item in sorted(items, key=lambda item: not _dealt_with(item)):
        words = digest(plan, item)
        before = left.take(words, _DEALT_WITH if _dealt_with(item) else _OPEN)
        if before is not None:
            now[item.start] = before._replace(done=before.done or _dealt_with(item), here=True)
        elif not item.checked:
            now[item.start] = RequestedItem(words, left.next_ordinal(words), _dealt_with(item), here=True)
            if not (first and item.answered):
                fresh.add(item.start)
    here = tuple(now[start] for start in sorted(now))
    edits = _edits(known, here)
    news = tuple(NewItems(now[i.start], i, edits.get(now[i.start].id)) for i in items if i.start in fresh)
    return (*here, *_gone(known, here)), news


class _Left:
    """The known requests that no item has been matched with yet."""

    def __init__(self, known: Sequence[RequestedItem]) -> None:
        self._waiting: dict[tuple[str, bool, bool], deque[RequestedItem]] = defaultdict(deque)
        self._asked: dict[str, int] = defaultdict(int)
        for request in known:
            self._waiting[request.words, request.done, request.here].append(request)
            self._asked[request.words] = max(self._asked[request.words], request.ordinal + 1)

    def take(self, words: str, ways: Sequence[tuple[bool, bool]]) -> RequestedItem | None:
        """Take the first request with these words, by these ways in turn."""
        for done, here in ways:
            if self._waiting[words, done, here]:
                return self._waiting[words, done, here].popleft()
        return None

    def next_ordinal(self, words: str) -> int:
        """Count one more request with these words."""
        self._asked[words] += 1
        return self._asked[words] - 1


def _dealt_with(item: ReviewItem) -> bool:
    return item.checked or item.answered


def _gone(known: Sequence[RequestedItem], here: Sequence[RequestedItem]) -> tuple[RequestedItem, ...]:
    still = {request.id for request in here}
    away = [request for request in known if request.id not in still]
    longest_first = sorted(away, key=lambda request: request.here)
    return tuple(request._replace(here=False) for request in longest_first)[-_REMEMBERED:]


def _edits(known: Sequence[RequestedItem], here: Sequence[RequestedItem]) -> Mapping[str, RequestedItem]:
    """Return, by the new request's id, which request it is an edit of: one went and one came in the same place."""
    before = [request for request in known if request.here]
    went = _between(before, {request.id for request in here})
    came = _between(here, {request.id for request in known})
    return {new[0].id: went[place][0] for place, new in came.items() if len(new) == 1 and len(went.get(place, ())) == 1}


def _between(requests: Sequence[RequestedItem], staying: set[str]) -> dict[str, list[RequestedItem]]:
    """Return the requests that do not stay, by the one before them that does."""
    found: dict[str, list[RequestedItem]] = defaultdict(list)
    place = ""
    for request in requests:
        if request.id in staying:
            place = request.id
        else:
            found[place].append(request)
    return found


def read(state: Json) -> tuple[RequestedItem, ...] | None:
    """Return the requests that a cursor holds, or None where it holds none at all.

    What is not a request of ours is left out, and asked again if need be.
    """
    if not isinstance(state, list | tuple):
        return None
    return tuple(RequestedItem(*each) for each in state if _is_request(each))


def write(requests: Iterable[RequestedItem]) -> Json:
    """Return the requests as a cursor holds them."""
    return [list(request) for request in requests]


def _is_request(value: Json) -> bool:
    match value:
        case [str(), int(), bool(), bool()]:
            return True
        case _:
            return False
