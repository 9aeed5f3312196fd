"""Make the ids of the TODOs that people write into a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import sha256

_DIGITS = 12


def by_title() -> Callable[[int, str], str]:
    """Return what gives each TODO of one plan an id, by its title and how many of that title there were before.

    A copy of the plan that an editor saves without the ids gets the same ones again.
    """
    counts: Counter[str] = Counter()

    def new_id(_number: int, title: str) -> str:
        counts[title] += 1
        digest = sha256(f"{counts[title]} {title}".encode("utf-8", "surrogatepass")).hexdigest()
        return f"t-{digest[:_DIGITS]}"

    return new_id
