"""Name the folder of all that prloom writes below a checkout, and what several layers have to find there."""

from __future__ import annotations

from typing import Final

OWN_FOLDER: Final = "prloom/.local"
"""The folder, below a checkout; never committed. Texts of strangers wait there, which no run may come upon."""

DISPATCHER_LOCK: Final = "dispatcher.lock"
BUS: Final = "bus"
PLAN_STATE: Final = "state.json"

CLONES: Final = "clones"
"""The folder of the clones in which agents work; below prloom's own of the main checkout."""

INDEXES: Final = "indexes"
"""The folder beside it of prloom's own indexes of the clones."""
