"""The methods that the dispatcher and a plugin's process call on each other, and what they carry."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.event import Event
from prloom.model.hook import HookCall
from prloom.model.record import Json, Record

INITIALIZE = "initialize"
"""To the plugin: load yourself (Initialize); the result is what was registered (hosting.Registered)."""

HOOK = "hook"
"""To the plugin: run a hook (RunHook); the result is what it asked for (model.hook.Outcome)."""

RUN_AGENT = "runAgent"
"""To the dispatcher: run an agent (RunAgent); the result is its final message."""

READ_EVENTS = "readEvents"
"""To the dispatcher: read events of the plan (ReadEvents); the result is EventsRead."""

READ_PLAN = "readPlan"
"""To the dispatcher: read another plan (ReadPlan); the result is its text."""

LOG = "log"
"""To the dispatcher, as a notification: a record that the plugin logged (LogRecord)."""


class Initialize(Record, frozen=True, kw_only=True):
    """The plugin, its settings, the least level of records that are of interest, and its memory in bytes (0: any)."""

    found: DiscoveredPlugin
    settings: Mapping[str, Json] = field(default_factory=dict)
    log_level: int = 0
    memory: int = 0


class RunHook(Record, frozen=True, kw_only=True):
    """A hook's call; what it asks of the dispatcher carries its number."""

    number: int
    call: HookCall


class RunAgent(Record, frozen=True, kw_only=True):
    """An agent to be run for the call of this number."""

    number: int
    prompt: str
    files: tuple[str, ...] = ()
    stage: str = "worker"
    model: str | None = None


class ReadEvents(Record, frozen=True, kw_only=True):
    """Events to be read for the call of this number."""

    number: int
    types: tuple[str, ...] | None = None
    since_id: str | None = None
    limit: int = 100


class EventsRead(Record, frozen=True, kw_only=True):
    """Events, oldest first, and the id to go on from."""

    events: tuple[Event, ...] = ()
    last_id: str | None = None


class ReadPlan(Record, frozen=True, kw_only=True):
    """A plan to be read for the call of this number."""

    number: int
    plan_id: str


class LogRecord(Record, frozen=True, kw_only=True):
    """What was logged, at which of Python's levels."""

    level: int
    message: str
