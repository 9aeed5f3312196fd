"""Which items of a list are shown, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from .things import Post


def sort(posts: Iterable[Post], query: Mapping[str, str], *, since: datetime | None) -> list[Post]:
    """Return the posts that changed at or after `since`, that very second included, in the order asked for.

    Without `sort` they come by number, oldest first, and `direction` is not looked at.
    """
    found = [post for post in posts if since is None or whole_second(post.updated_at) >= whole_second(since)]
    if "sort" not in query:
        return sorted(found, key=lambda post: post.id)
    field = "updated_at" if query["sort"] == "updated" else "created_at"
    descending = query.get("direction", "desc") == "desc"
    return sorted(found, key=lambda post: (whole_second(getattr(post, field)), post.id), reverse=descending)


def whole_second(moment: datetime) -> datetime:
    return moment - timedelta(microseconds=moment.microsecond)
