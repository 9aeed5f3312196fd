"""Define the messages between the dispatcher and a plugin's host: what was registered, the calls, and how one fails."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal, Protocol

from msgspec import field

from prloom.api.context import Services
from prloom.api.plugin import Registrations
from prloom.core.text import bounds
from prloom.errors import ExtensionError
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.event import Event
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json, Record

HookFailureKind = Literal["raised", "overran", "died", "stopped", "waiting"]

START_LIMIT = timedelta(seconds=30)
"""How long a plugin may take to be imported and to register."""


class OfferedTool(Record, frozen=True, kw_only=True):
    """A tool for agents; `checked`: it has a check, which is asked at each call. `timeout_ms` bounds a call."""

    description: str = ""
    schema: Mapping[str, Json] = field(default_factory=dict)
    checked: bool = False
    requires_confirmation: bool = False
    visible_to: tuple[str, ...] = ()
    timeout_ms: int = 30_000


class OfferedSkill(Record, frozen=True, kw_only=True):
    """A file or folder of instructions for agents."""

    path: str
    description: str = ""


class Registered(Record, frozen=True, kw_only=True):
    """What a plugin registered, as a value: the hook points by name, the rest by name with its description.

    `commands` maps the name of a slash command (without the slash) to its help; `approved_commands` are those that are
    obeyed in an approved text of an author who is not trusted, too.
    """

    hooks: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    approved_commands: tuple[str, ...] = ()
    tools: Mapping[str, OfferedTool] = field(default_factory=dict)
    skills: Mapping[str, OfferedSkill] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def inert(self) -> bool:
        """Whether the plugin offers nothing, as one does that is not configured yet."""
        return not (self.hooks or self.commands or self.tools or self.skills)


def registered(made: Registrations, warnings: tuple[str, ...] = ()) -> Registered:
    """Return registrations as the value that says what they are."""
    return Registered(
        hooks=tuple(dict.fromkeys(hook.name for hook in made.hooks)),
        commands={command.name: bounds.cut(command.help) for command in made.commands},
        approved_commands=tuple(command.name for command in made.commands if command.allow_approved),
        tools={
            tool.name: OfferedTool(
                description=tool.description,
                schema=tool.schema,
                checked=tool.check is not None,
                requires_confirmation=tool.requires_confirmation,
                visible_to=tool.visible_to,
                timeout_ms=round(tool.timeout * 1000),
            )
            for tool in made.tools
        },
        skills={skill.name: OfferedSkill(path=str(skill.path), description=skill.description) for skill in made.skills},
        warnings=tuple(map(bounds.cut, warnings)),
    )


class HookFailed(ExtensionError):  # noqa: N818 - it is an outcome that the dispatcher expects, and acts on by its kind
    """A hook's call took no effect. The text says which plugin's, and why.

    `kind` is how: it raised, overran its limit, its host died while it ran, was stopped for the sake of another call,
    or its host is waiting to be started again (from `retry_after` on). Where `collateral`, the hook is not at fault.
    """

    def __init__(self, reason: str, *, kind: HookFailureKind = "raised", retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.kind: HookFailureKind = kind
        self.retry_after = retry_after

    @property
    def collateral(self) -> bool:
        """Whether the call may be run again at once, and without being counted."""
        return self.kind == "stopped"


class PluginHost(Protocol):
    """Where one plugin's code runs. All methods belong to one event loop."""

    key: str

    async def start(self) -> Registered:
        """Load the plugin and return what it registered; raises ExtensionError where it cannot be loaded."""

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        """Run one hook and return all that it requested; raises HookFailed, and then nothing of it has taken effect.

        Calls may overlap. The limit is paused while an agent works for the hook. `services.run_agent` is awaited in
        the loop of the host; the services that are plain functions may be called from another thread.
        """

    async def stop(self) -> None:
        """End the plugin's code, whatever it is doing; the next call starts it again."""


INITIALIZE = "initialize"
"""To the plugin: load yourself (InitializeRequest); the result is what was registered (Registered)."""

HOOK = "hook"
"""To the plugin: run a hook (HookRequest); the result is what it asked for (model.hook.Outcome)."""

RUN_AGENT = "runAgent"
"""To the dispatcher: run an agent (AgentRequest); the result is its final message."""

READ_EVENTS = "readEvents"
"""To the dispatcher: read events of the plan (EventsRequest); the result is EventsRead."""

READ_PLAN = "readPlan"
"""To the dispatcher: read another plan (PlanRequest); the result is its text."""

LOG = "log"
"""To the dispatcher, as a notification: a record that the plugin logged (LogRecord)."""


class InitializeRequest(Record, frozen=True, kw_only=True):
    """The plugin, its settings, the least level of records that are of interest, and its memory in bytes (0: any)."""

    found: DiscoveredPlugin
    settings: Mapping[str, Json] = field(default_factory=dict)
    log_level: int = 0
    memory: int = 0


class HookRequest(Record, frozen=True, kw_only=True):
    """A hook's call; what it asks of the dispatcher carries its number."""

    number: int
    call: HookCall


class AgentRequest(Record, frozen=True, kw_only=True):
    """An agent to be run for the call of this number."""

    number: int
    prompt: str
    files: tuple[str, ...] = ()
    stage: str = "worker"
    model: str | None = None


class EventsRequest(Record, frozen=True, kw_only=True):
    """Events to be read for the call of this number."""

    number: int
    types: tuple[str, ...] | None = None
    since_id: str | None = None
    limit: int = 100


class EventsRead(Record, frozen=True, kw_only=True):
    """Events, oldest first, and the id to go on from."""

    events: tuple[Event, ...] = ()
    last_id: str | None = None


class PlanRequest(Record, frozen=True, kw_only=True):
    """A plan to be read for the call of this number."""

    number: int
    plan_id: str


class LogRecord(Record, frozen=True, kw_only=True):
    """What was logged, at which of Python's levels."""

    level: int
    message: str
