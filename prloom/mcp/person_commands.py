"""The commands that a person's own agent may run, as tools: their parameters, and the command lines of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prloom.model.agent_names import AGENT_NAMES
from prloom.model.event import SEVERITIES
from prloom.model.kinds import EVENT_ORDERS
from prloom.model.record import Json

_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}
_FLAG: Final = {"type": "boolean"}
_ONLY_PLAN: Final = {"type": "string", "description": "only this plan"}
_SEVERAL: Final[Mapping[str, Json]] = {
    "events": {**_TEXTS, "description": "ids, or @LOGIN for all of an author"},
    "plan": {"type": "string", "description": "only this plan; without events, all of its events that qualify"},
    "yes": {"type": "boolean", "description": "act on several events of an author or a plan"},
}


@dataclass(frozen=True)
class CommandTool:
    """A command as a tool: its parameters, named as those of the command, and which of them are required.

    `argument` is the parameter that stands without an option, and `text` the one that the command reads on standard
    input: it may be longer than an argument. `needs_confirmation` says that a person has to confirm each call:
    the program of the agent does that. What `reads` prints JSON.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    argument: str = ""
    text: str = ""
    required: tuple[str, ...] = ()
    command: str = ""
    reads: bool = False
    needs_confirmation: bool = False

    @property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the arguments."""
        listed = {"type": "object", "properties": dict(self.parameters), "additionalProperties": False}
        return {**listed, "required": list(self.required)}

    def argv(self, given: Mapping[str, Json]) -> Sequence[str]:
        """Return the command line; a value can never be taken for an option."""
        line = [self.command or self.name]
        if self.reads:
            line.append("--json")
        for name, value in given.items():
            if name == self.text:
                line.append(f"--{name}=-")
            elif value is True:
                line.append(f"--{name}")
            elif value is not False and name != self.argument:
                line.append(f"--{name}={value}")
        named = given.get(self.argument, [])
        if isinstance(named, str):
            named = [named]
        return [*line, "--", *named]

    def stdin(self, given: Mapping[str, Json]) -> bytes:
        """Return what the command reads on standard input."""
        return str(given.get(self.text, "")).encode()


COMMANDS: Final[tuple[CommandTool, ...]] = (
    CommandTool(
        name="status",
        description="Show what waits, why, and what needs a person.",
        parameters={"plan": _ONLY_PLAN},
        argument="plan",
        reads=True,
    ),
    CommandTool(
        name="events",
        description="List events and their states.",
        parameters={
            "plan": _ONLY_PLAN,
            "state": _TEXT,
            "type": _TEXT,
            "author": _TEXT,
            "since": {"type": "string", "description": "2h, 7d, a date or a time"},
            "limit": {"type": "integer", "minimum": 1},
            "sort": {"enum": [*EVENT_ORDERS]},
            "all": {"type": "boolean", "description": "list prloom's own notices of new drafts too"},
        },
        argument="plan",
        reads=True,
    ),
    CommandTool(
        name="why",
        description="Show the complete history of an event or a TODO.",
        parameters={"event": _TEXT, "plan": _ONLY_PLAN},
        argument="event",
        required=("event",),
        reads=True,
    ),
    CommandTool(
        name="plans",
        description="List the plans: their ids, titles, branches and pull requests.",
        parameters={},
        command="status",
        reads=True,
    ),
    CommandTool(
        name="emit",
        description="Append an event to a plan, in the operator's name unless an author is given.",
        parameters={
            "plan": _TEXT,
            "body": _TEXT,
            "type": _TEXT,
            "author": _TEXT,
            "trust": _TEXT,
            "id": _TEXT,
            "title": _TEXT,
            "url": _TEXT,
            "severity": {"enum": [*SEVERITIES]},
        },
        argument="plan",
        text="body",
        required=("plan", "body"),
    ),
    CommandTool(
        name="retry",
        description="Make waiting events due now, and try failed actions again.",
        parameters={
            **_SEVERAL,
            "deferred": _FLAG,
            "parked": _FLAG,
            "agent": {"enum": [*AGENT_NAMES], "description": "instead, all that waits until this program can be used"},
        },
        argument="events",
    ),
    CommandTool(
        name="approve",
        description="Approve held events, so that plugins and agents may read them.",
        parameters={
            **_SEVERAL,
            "release": {"type": "boolean", "description": "send a withheld action as it is, with everything in it"},
        },
        argument="events",
        needs_confirmation=True,
    ),
    CommandTool(
        name="drop",
        description="Drop events permanently, with a reason.",
        parameters={**_SEVERAL, "reason": _TEXT},
        argument="events",
        required=("reason",),
        needs_confirmation=True,
    ),
    CommandTool(
        name="pause",
        description="Stop the work on plans.",
        parameters={"plans": _TEXTS, "all": _FLAG},
        argument="plans",
        needs_confirmation=True,
    ),
    CommandTool(
        name="resume",
        description="Resume the work on plans.",
        parameters={
            "plans": _TEXTS,
            "all": _FLAG,
            "commit": {"type": "boolean", "description": "first commit the worktree's changes, as the person's own"},
            "stash": {"type": "boolean", "description": "first put the worktree's changes onto git's stash"},
        },
        argument="plans",
        needs_confirmation=True,
    ),
)
