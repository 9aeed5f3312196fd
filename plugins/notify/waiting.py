"""Decide which of the things that need a person are new, from what was reported before. Times are Unix seconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

BLIP = 600.0
"""For how long something may be gone, and is the same when it is back: a file that could not be read for a moment."""

FORGOTTEN_AFTER = 7 * 86_400.0
"""For how long something that was reported and is gone is remembered."""


@dataclass(frozen=True)
class Need:
    """An entry of what needs a person: `names` tell apart the things that it is about; `since` is when they began.

    `known` counts the things of the entry that were reported before.
    """

    kind: str
    plan: str
    text: str
    remedy: str
    names: tuple[str, ...]
    since: float | None = None
    known: int = 0

    @property
    def began(self) -> float | None:
        """When the one thing began that the entry is about; None where it is about several, or about no plan.

        What is about no plan, such as a source that cannot be reached, begins again each time it fails.
        """
        if not self.plan or len(self.names) + self.known != 1:
            return None
        return self.since


@dataclass(frozen=True)
class Reported:
    """Something that was reported: since when it is gone, if it is, and when it began, if that is known."""

    gone: float | None = None
    began: float | None = None


def read(document: Mapping[str, Any], kinds: Collection[str] = ()) -> tuple[Need, ...]:
    """Return the needs of a `prloom status --json`; only those of the kinds that are named, if any are."""
    found = document["dashboard"]["needs"]
    return tuple(_need(each) for each in found if not kinds or each["kind"] in kinds)


def _need(found: Mapping[str, Any]) -> Need:
    plan, kind = found.get("plan") or "", str(found["kind"])
    names = [f"{kind}/{plan}/{each}" for each in found.get("ids") or ()] or [str(found["key"])]
    since = None
    if found.get("since"):
        since = datetime.fromisoformat(found["since"]).timestamp()
    remedy = found.get("remedy") or " or ".join(found.get("commands") or ())
    return Need(kind, plan, str(found["text"]), remedy, tuple(names), since)


def fresh(needs: Iterable[Need], reported: Mapping[str, Reported], now: float) -> tuple[Need, ...]:
    """Return the needs of which something is new, each with the names of what is new in it."""
    found = []
    for need in needs:
        new = tuple(name for name in need.names if _is_new(reported.get(name), need, now))
        if new:
            found.append(replace(need, names=new, known=len(need.names) - len(new)))
    return tuple(found)


def _is_new(before: Reported | None, need: Need, now: float) -> bool:
    """Whether something was never reported, or was over in between: also between two looks."""
    if before is None:
        return True
    if before.began is not None and need.began is not None and need.began > before.began:
        return True
    if before.gone is None:
        return False
    return now - before.gone > BLIP or (need.since is not None and need.since > before.gone)


def updated(needs: Iterable[Need], reported: Mapping[str, Reported], now: float) -> dict[str, Reported]:
    """Return what was reported, with what is gone now; what is back and new is forgotten, to be reported again."""
    present = {name: need for need in needs for name in need.names}
    left: dict[str, Reported] = {}
    for name, before in reported.items():
        if name in present:
            if not _is_new(before, present[name], now):
                left[name] = Reported(began=present[name].began or before.began)
        elif before.gone is None:
            left[name] = replace(before, gone=now)
        elif now - before.gone < FORGOTTEN_AFTER:
            left[name] = before
    return left
