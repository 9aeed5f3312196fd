"""Cut texts that plugins, bridges, agents and forges give to a length that people can read, when they are accepted."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from prloom.model.decision import Change, Decision, DeliveryChange

REASON: Final = 1000
"""The most characters of a reason or an error that are kept."""
TITLE: Final = 300
"""The most characters of a title that are kept."""


def cut(text: str, longest: int = REASON) -> str:
    """Return the text, or its beginning and an ellipsis where it is longer."""
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def title(text: str) -> str:
    """Return a title that is not too long."""
    return cut(text, TITLE)


def decision(made: Decision) -> Decision:
    """Return the decision with every reason and error in it cut; most have none that is too long."""
    if not (any(map(_long_change, made.changes)) or any(map(_long_delivery, made.deliveries)) or _long(made.note)):
        return made
    return replace(
        made,
        changes=tuple(_change(each) if _long_change(each) else each for each in made.changes),
        deliveries=tuple(replace(each, error=_cut(each.error)) for each in made.deliveries),
        note=_cut(made.note),
    )


def _change(change: Change) -> Change:
    wait = change.deferral
    if wait is not None:
        wait = replace(wait, reason=cut(wait.reason))
    return replace(change, reason=_cut(change.reason), deferral=wait)


def _long_change(change: Change) -> bool:
    return _long(change.reason) or (change.deferral is not None and _long(change.deferral.reason))


def _long_delivery(delivery: DeliveryChange) -> bool:
    return _long(delivery.error)


def _long(text: str | None) -> bool:
    return text is not None and len(text) > REASON


def _cut(text: str | None) -> str | None:
    if text is None:
        return None
    return cut(text)
