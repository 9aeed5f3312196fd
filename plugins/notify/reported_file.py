"""Keep what each place was told, so that it is told each thing once: also after a restart, and where others failed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugins.notify.waiting import Reported

ReportedByRecipient = dict[str, dict[str, Reported]]
"""What was reported to each place, by the place's key."""


def kept_in(root: str) -> Path:
    """Return the file in which is kept what was reported."""
    plugin = os.environ.get("PRLOOM_PLUGIN", "notify").replace("/", "__")
    return Path(root, "prloom", ".local", "plugins", plugin, "reported.json")


def read(path: Path, keys: list[str]) -> ReportedByRecipient:
    """Return what these places were told; nothing where the file is missing or damaged: then it is reported again.

    A place that the file does not know was told what all others were. An earlier version kept only that.
    """
    try:
        kept = json.loads(path.read_text())
        every, recipients = _reported(kept), kept.get("recipients", {})
        return {key: _reported(recipients[key]) if key in recipients else dict(every) for key in keys}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {key: {} for key in keys}


def write(path: Path, by_recipient: ReportedByRecipient) -> None:
    """Write down what was reported, whole or not at all."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)  # as an earlier version may have left it: open to others
    recipients = {key: _document(reported) for key, reported in by_recipient.items()}
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({**_document(_by_all(by_recipient)), "recipients": recipients}, file)
    new.replace(path)


def _by_all(by_recipient: ReportedByRecipient) -> dict[str, Reported]:
    """Return what every place was told."""
    first, *others = by_recipient.values()
    return {name: each for name, each in first.items() if all(name in other for other in others)}


def _reported(kept: Mapping[str, Any]) -> dict[str, Reported]:
    began = kept.get("began", {})  # an earlier version kept none
    return {str(name): Reported(gone, began.get(name)) for name, gone in kept["reported"].items()}


def _document(reported: Mapping[str, Reported]) -> dict[str, Any]:
    began = {name: each.began for name, each in reported.items() if each.began is not None}
    return {"reported": {name: each.gone for name, each in reported.items()}, "began": began}
