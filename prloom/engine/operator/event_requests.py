"""Check, before anything is written, that what a request names can be approved, retried or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prloom.core.text import event_names
from prloom.core.text.shown_text import to_run
from prloom.engine.views.request_targets import RequestTarget
from prloom.errors import PrloomError


def check_approval(found: Iterable[RequestTarget]) -> None:
    """Raise PrloomError for what is neither held nor withheld."""
    for target in found:
        if target.event is None and target.action is None:
            raise PrloomError(f"prloom has not taken in {target.id} yet; run `prloom start`, then approve it")
        if target.state not in {"held", "withheld"}:
            raise PrloomError(f"{target.id} is {target.state}, not held; there is nothing to approve")


def digests(held: Iterable[RequestTarget]) -> Mapping[str, str]:
    """Return the texts that an approval of these events covers, by event."""
    return {target.id: target.event.digest for target in held if target.event is not None}


def check_retry(found: Iterable[RequestTarget]) -> None:
    """Raise PrloomError for what does not wait for a retry."""
    for target in found:
        if target.todo is not None:
            _check_todo(target)
            continue
        if target.event is None and target.action is None:
            raise PrloomError(f"{target.id} was not taken in yet; run `prloom start`")
        if target.state == "held":
            raise PrloomError(f"{target.id} is held; to approve it, run {to_run('approve', event_names.of(target.id))}")
        if target.event is not None and target.state == "pending":
            raise PrloomError(f"{target.id} is already pending; run `prloom start`")


def _check_todo(target: RequestTarget) -> None:
    if target.state in {"done", "dropped"}:
        again = to_run("todo", target.plan, "open", target.id)
        raise PrloomError(f"the TODO {target.id} is {target.state}; {again} requests it again")
    if not target.waits:
        raise PrloomError(
            f"the TODO {target.id} waits for nothing that a retry ends; {to_run('why', target.id)} shows how far it is"
        )


def check_drop(found: Iterable[RequestTarget]) -> None:
    """Raise PrloomError for what is no open event."""
    for target in found:
        if target.action is not None:
            raise PrloomError(f"{target.id} is done, or is an action; only open events can be dropped")
