"""A pull request that prloom looks after."""

from __future__ import annotations

from prloom.model.record import Record


class Plan(Record, frozen=True, kw_only=True):
    """What `state.json` holds. `blocked` says that nothing is done for it until `last_error` is mended."""

    id: str
    branch: str
    title: str = ""
    status: str = "active"
    pr: int | None = None
    forge: str | None = None
    url: str | None = None
    preset: str | None = None
    created_at: str | None = None
    last_error: str | None = None
    last_error_at: str | None = None
    blocked: bool = False
