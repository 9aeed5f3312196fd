"""Keep what was delivered, in a file of each bridge."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

import msgspec

from prloom.model import record
from prloom.model.record import Timestamp
from prloom.model.state import Attempt, DeliveryState, QueuedAction, Receipt
from prloom.storage import paths, repair
from prloom.storage.document import LABEL, Document
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_ALL = "*"
"""Represents, among the attempts, all that a damaged file may have held; its time is when the file was set aside."""
_PREFIX, _SUFFIX = "bridge.", ".actions.json"


def document(local: SafeDir, bridge: str) -> Document:
    """Return the file of one bridge's attempts and receipts for the plan."""
    return Document(local.make_sub(paths.BUS, paths.BUS_STATE), paths.bridge_deliveries(bridge))


def load(local: SafeDir, bridge: str, now: datetime) -> DeliveryState:
    """Return a bridge's attempts and receipts; what is damaged is set aside.

    Which attempts were begun is not known then, so all that was queued by that time is in doubt, and looked for by its
    marker before it is posted: no more is lost by that than a look.
    """
    file = document(local, bridge)
    found = file.load()
    try:
        if found.value is not None:
            return record.from_wire(DeliveryState, found.value)
    except msgspec.ValidationError:
        repair.quarantine(file.folder, file.name, LABEL)
    else:
        if found.reason is None:
            return DeliveryState()
    log.warning(
        "%s could not be read; before prloom posts a queued action, it checks whether the action was posted before",
        file.path,
    )
    doubtful = DeliveryState(attempts={_ALL: Attempt(0, Timestamp.of(now))})
    save(local, bridge, doubtful)
    return doubtful


def in_doubt(state: DeliveryState, queued: QueuedAction) -> bool:
    """Whether the action was tried before, or may have been at a time of which nothing is known any more."""
    lost = state.attempts.get(_ALL)
    return queued.id in state.attempts or (lost is not None and queued.since <= lost.started_at)


def save(local: SafeDir, bridge: str, state: DeliveryState) -> None:
    """Write a bridge's attempts and receipts."""
    document(local, bridge).save(record.to_wire(state))


def all_of(local: SafeDir, now: datetime) -> Mapping[str, Receipt]:
    """Return the latest receipts of all bridges for the plan, by action."""
    folder = local.sub(paths.BUS, paths.BUS_STATE)
    if folder is None:
        return {}
    with folder:
        names = [name for name in folder.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    bridges = [name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names]
    return {receipt.action_id: receipt for bridge in bridges for receipt in load(local, bridge, now).receipts}
