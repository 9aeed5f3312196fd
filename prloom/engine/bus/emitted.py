"""Remember, in the main checkout, the latest events of `prloom emit`: no worker can write there.

By this a line in a plan's `events.jsonl` is known as the operator's, also where it came while a worker ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from prloom.model import record
from prloom.model.event import Event
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

REMEMBERED = 500
"""Digests that are kept; those of the latest call of `prloom emit` all are."""


def remember(root: Path, events: Sequence[Event]) -> None:
    """Remember events that are about to be appended to a plan's bus."""
    new = [_digest(event) for event in events]
    with SafeDir.make(root, *paths.LOCAL) as folder:
        Document(folder, paths.EMITTED).update(lambda found: {"digests": _latest(found.value, new)})


def was_emitted(root: Path, event: Event) -> bool:
    """Whether an event, as it is in a plan's bus, is one of the latest of `prloom emit`."""
    folder = SafeDir.open(root, *paths.LOCAL)
    if folder is None:
        return False
    with folder:
        value = Document(folder, paths.EMITTED).load().value
    return _digest(event) in _digests(value)


def _latest(value: record.Json, new: list[str]) -> list[str]:
    return [*_digests(value), *new][-max(REMEMBERED, len(new)) :]


def _digests(value: record.Json) -> list[str]:
    found = (value or {}).get("digests")
    if isinstance(found, list):
        return found
    return []


def _digest(event: Event) -> str:
    return sha256(msgspec.json.encode(event, enc_hook=record.encode_timestamp)).hexdigest()
