"""What was delivered, as each bridge's own file remembers it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prloom.model import record
from prloom.model.state import DeliveryState, Receipt
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder

_PREFIX, _SUFFIX = "bridge.", ".actions.json"


def document(local: Folder, bridge: str) -> Document:
    """Return the file of one bridge's attempts and receipts for the plan."""
    return Document(local.make_sub(paths.BUS, paths.BUS_STATE), paths.bridge_deliveries(bridge))


def load(local: Folder, bridge: str) -> DeliveryState:
    """Return a bridge's attempts and receipts; none where the file is missing or was set aside as damaged.

    Nothing is lost by that: an action without a receipt is looked for by its marker before it is posted again.
    """
    found = document(local, bridge).load()
    try:
        return record.from_wire(DeliveryState, found.value) if found.value is not None else DeliveryState()
    except msgspec.ValidationError:
        return DeliveryState()


def save(local: Folder, bridge: str, state: DeliveryState) -> None:
    """Write a bridge's attempts and receipts."""
    document(local, bridge).save(record.to_wire(state))


def all_of(local: Folder) -> Mapping[str, Receipt]:
    """Return the latest receipts of all bridges for the plan, by action."""
    folder = local.sub(paths.BUS, paths.BUS_STATE)
    if folder is None:
        return {}
    with folder:
        names = [name for name in folder.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    bridges = [name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names]
    return {receipt.action_id: receipt for bridge in bridges for receipt in load(local, bridge).receipts}
