"""Name the folder of all that prloom writes below a checkout, and what several layers have to find there."""

from __future__ import annotations

from typing import Final

OWN_FOLDER: Final = "prloom/.local"
"""The folder, below a checkout; never committed. Texts of strangers wait there, which no run may come upon."""

DISPATCHER_LOCK: Final = "dispatcher.lock"
BUS: Final = "bus"
PLAN_STATE: Final = "state.json"
