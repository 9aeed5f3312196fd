"""Define an agent's call of a tool and its result as values, and a run as session hooks see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from prloom.model.record import Json, Record

TOOL = "tool:"
"""What the name of the hook point of a tool's handler starts with; the tool's name follows."""

CHECK = "check:"
"""The same, of the function that says whether a tool can be used just now."""

ToolKind = Literal["own", "python", "executable", "background_rpc"]
"""Who answers a call: prloom, a function of a Python plugin, a process for each call, or a plugin's daemon."""

EXECUTED = "Tool executed successfully"
"""The output of a call whose answer has no message of its own."""


class ToolSpec(Record, frozen=True, kw_only=True):
    """A tool as it is offered: its schema, which stages see it, and how long a call may take (milliseconds).

    `plugin` is the key of the plugin that offers it, and empty for prloom's own. `command` and `args` are those of an
    `executable`, `method` is that of `background_rpc`. `checked`: its plugin says at each call whether it can be used.
    """

    name: str
    kind: ToolKind
    plugin: str = ""
    description: str = ""
    schema: Mapping[str, Json] = field(default_factory=dict)
    visible_to: tuple[str, ...] = ()
    requires_confirmation: bool = False
    timeout_ms: int = 30_000
    command: str = ""
    args: tuple[str, ...] = ()
    method: str = ""
    checked: bool = False


class ToolResult(Record, frozen=True, kw_only=True):
    """What a call came to; `error_type` names the kind of an error, for programs."""

    success: bool
    error: str | None = None
    output: str = ""
    data: Json = None
    error_type: str | None = None


class ToolCall(Record, frozen=True, kw_only=True):
    """A call of a tool by the agent of a run, as guards and handlers get it; `result` once there is one."""

    id: str
    name: str
    plugin: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    plan_id: str = ""
    run_id: str = ""
    stage: str = ""
    result: ToolResult | None = None


class SessionResult(Record, frozen=True, kw_only=True):
    """What an agent's run came to: `ok`, `failed`, `limited` or `interrupted`, its error, and its final message."""

    status: str
    error: str | None = None
    message: str = ""


class Session(Record, frozen=True, kw_only=True):
    """A run of an agent as session hooks see it; `result` once it has ended."""

    run_id: str
    stage: str
    agent: str
    result: SessionResult | None = None
