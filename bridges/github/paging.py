"""Read the pages of a list, to which `Link` leads, and read them again while something in the list may have moved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from urllib.parse import urlsplit

from prloom.api import Answer, HttpError, Json

from .sansio import answers

Get = Callable[[str, str | None], Awaitable[Answer]]
"""Sends a GET request; with a tag, GitHub answers only if the answer has changed."""

MOST_PAGES = 300
_MOST_READINGS = 5
"""How often a list is read again in which something is deleted each time."""


async def read_pages(get: Get, first: Answer, known: Mapping[str, Answer] | None = None) -> list[Answer]:
    """Return all pages of a list; of those that are `known` by their addresses, only changes are requested."""
    pages = [first]
    read = {first.url}
    while (url := pages[-1].next_page) is not None:
        where = urlsplit(first.url).path
        if url in read:
            raise HttpError(f"{where}: a page of the list leads to one that was read already", trouble="unknown")
        if len(pages) >= MOST_PAGES:
            raise HttpError(f"{where}: more than {MOST_PAGES} pages", trouble="unknown")
        page = await _read(get, url, known or {})
        read |= {url, page.url}
        pages.append(page)
    return pages


async def read_all(get: Get, first: Answer, *path: str) -> list[Json]:
    """Return all items of the list of which this is the first page.

    A deletion on a page that was read moves the first item of the next page there, where nobody sees it. So a list of
    several pages is read again, until it has all that the reading before it found: then nothing of that was deleted
    meanwhile. A page that has not changed is free.
    """
    pages = await read_pages(get, first)
    found = items(pages, *path)
    for _ in range(_MOST_READINGS):
        if len(pages) == 1:
            return found
        known = {page.url: page for page in pages}
        pages = await read_pages(get, await _read(get, pages[0].url, known), known)
        before, found = found, items(pages, *path)
        if _ids(before) <= _ids(found):
            return found
    raise HttpError(f"{urlsplit(first.url).path}: something was deleted each time it was read", trouble="unknown")


def items(pages: Iterable[Answer], *path: str) -> list[Json]:
    """Return the items of these pages."""
    return [item for page in pages for item in answers.page(page, *path)]


async def _read(get: Get, url: str, known: Mapping[str, Answer]) -> Answer:
    page = known.get(url)
    if page is None:
        return await get(url, None)
    answer = await get(url, page.etag)
    if answer.unchanged:
        return page
    return answer


def _ids(found: Iterable[Json]) -> set[int | None]:
    return {answers.number(item, "id") for item in found}
