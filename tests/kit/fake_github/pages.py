"""Pages of lists, and the `Link` header that names the others by numeric paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from .exchange import Json, Listing
from .world import World

DEFAULT, MOST = 30, 100
T = TypeVar("T")


def number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() and int(text) > 0 else default


def size(query: Mapping[str, str]) -> int:
    """Return how many items a page has; who asks for more than 100 gets 100 and is not told."""
    return min(number(query.get("per_page"), DEFAULT), MOST)


def cut(items: Sequence[T], query: Mapping[str, str]) -> Sequence[T]:
    page, length = number(query.get("page"), 1), size(query)
    return items[(page - 1) * length : page * length]


def links(world: World, path: str, query: Mapping[str, str], total: int) -> dict[str, str]:
    """Return the URLs of the neighbouring pages; they name the repository by its number."""
    page, last = number(query.get("page"), 1), -(-total // size(query))
    wanted = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    if page >= last:
        wanted = {"prev": min(page - 1, last), "first": 1} if page > 1 and last else {}
    elif page == 1:
        wanted = {"next": 2, "last": last}
    base = f"{world.urls.api}{numeric(world, path)}"
    return {rel: f"{base}?{urlencode({**query, 'page': str(to)})}" for rel, to in wanted.items()}


def numeric(world: World, path: str) -> str:
    name = f"/repos/{world.repository.full_name}"
    return f"/repositories/{world.repository.id}{path[len(name) :]}" if path.startswith(name) else path


def show(world: World, listing: Listing, path: str, query: Mapping[str, str]) -> tuple[Json, dict[str, str]]:
    """Return the page asked for and the URLs of its neighbours."""
    shown = [listing.render(item) for item in cut(listing.items, query)]
    value = shown if listing.wrap is None else {"total_count": len(listing.items), listing.wrap: shown}
    return value, links(world, path, query, len(listing.items))


def header(urls: Mapping[str, str]) -> dict[str, str]:
    return {"link": ", ".join(f'<{url}>; rel="{rel}"' for rel, url in urls.items())} if urls else {}
