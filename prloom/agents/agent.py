"""What prloom and an agent program say to each other, as values, and the protocol that each agent's module fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from prloom.agents.activity.adapter import Adapter, PlainAdapter
from prloom.agents.mcp_server import McpServer, ServerSettings
from prloom.agents.sandbox import HomeFile, Sandbox
from prloom.model.agent_names import Inherited
from prloom.model.kinds import RunOutcome

EndedBy = Literal["exit", "timeout", "silence", "output", "limit", "terminated"]
"""What ended a run: the agent itself, one of prloom's three limits, a usage limit that it met, or prloom's own end."""

Rights = Literal["read", "work"]
"""What a run may do in its worktree.

`read`: look at files. `work`: also change them and run programs; prloom alone commits and pushes.
"""

ErrorKind = Literal[
    "start",  # the program could not be started
    "refused",  # the machine that took the run does not do it
    "session",  # the session that was to be resumed is not there: start a new one
    "auth",  # the credentials were refused
    "usage_limit",  # the allowance is used up
    "rate_limit",  # too many requests at once; the allowance is not used up
    "server",  # the model's server failed or is overloaded
    "connection",  # the model could not be reached, or its stream was cut
    "turns",  # the program gave up after its number of turns
    "timeout",  # the run exceeded its time limit
    "silence",  # the run printed nothing for longer than the limit
    "output",  # the run said more than it may
    "killed",  # a signal from outside ended the program
    "stopped",  # prloom ended the run
    "lost",  # the run's worker died, so that nobody knows
    "no_result",  # the program ended without saying how it went
    "empty",  # the program ended well but said nothing
    "error",  # anything else that the program reported
]


class RunValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """A value that is written to a run's folder with camelCase keys."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work for an agent.

    `cwd` is where the agent works: a plan's clone, or its worktree for those who only read. `root` is the checkout in
    which prloom was started: programs and policy come from there, never from the files of a branch. `plan`, `todo` and
    `attempt` say what the run is for, for people, and `plugin` which plugin has asked for it. `session` is that of an
    earlier run, to be resumed. `argv` is the command line of `[agents.command]`, and `inherit` what of the operator's
    own takes part. The `sandbox` is what it sees, if it has one. The `server` is prloom's MCP server for the run, if it
    has one. The runner fills in `run` (the run's id), `environ` (the environment that the agent gets) and `settings`
    (the texts of those of the agent's `settings_files` that exist).
    """

    prompt: str
    stage: str
    cwd: Path
    root: Path
    model: str | None = None
    rights: Rights
    plan: str | None = None
    todo: str | None = None
    attempt: int | None = None
    plugin: str | None = None
    session: str | None = None
    answer_path: Path | None = None
    argv: tuple[str, ...] = ()
    server: McpServer | None = None
    sandbox: Sandbox | None = None
    inherit: tuple[Inherited, ...] = ()
    run: str = ""
    environ: Mapping[str, str] = msgspec.field(default_factory=dict)
    settings: Mapping[Path, str] = msgspec.field(default_factory=dict)


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the program. The prompt always comes by stdin: a process list shows arguments to every user.

    `env` is added to the allowed environment. `outside` starts the program in an empty folder of the operator's instead
    of the request's `cwd`: for programs that obey settings files of the folder that they are started in.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    outside: bool = False


class LimitReport(RunValue, frozen=True):
    """A model's server kept to a limit: which trouble it is, in what words, and when to come again if it says so."""

    trouble: Literal["usage_limit", "rate_limit"]
    message: str
    retry_at: datetime | None = None


class ProgramEnding(msgspec.Struct, frozen=True, kw_only=True):
    """How the process ended: exit code (negative: a signal), what ended it, when, and the end of its stderr.

    `at` must be aware, in the machine's own time zone: some programs give reset times as local clock times. `refusal`
    is the limit that the program had met and not got over when it ended.
    """

    code: int
    ended_by: EndedBy
    at: datetime
    stderr: str = ""
    refusal: LimitReport | None = None


class TokenUsage(RunValue, frozen=True):
    """Tokens as the program counted them; `input_tokens` holds those that came from the cache, `cached_tokens`."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


class RunResult(RunValue, frozen=True):
    """What a run came to. What was not measured is None: a cost is never computed from a price list."""

    status: RunOutcome
    message: str = ""
    trouble: ErrorKind | None = None
    error: str | None = None
    retry_at: datetime | None = None
    denials: tuple[str, ...] = ()
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    session_id: str | None = None
    model: str | None = None
    turns: int | None = None


class StreamEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an agent said or did, as a line of its output tells it, for people.

    A `piece` is a part of a text that the next one goes on with. `call` is the use of a `tool`, `result` what came of
    it, `error` a failure or a refusal, of a tool or of the model's server, and `remark` a word of the program itself.
    """

    kind: Literal["text", "piece", "call", "result", "error", "remark"]
    text: str
    tool: str = ""


class Agent(Protocol):
    """An agent program. Each module of this package that has these names is one; nothing here does I/O.

    `program` is the executable to look for (None: the configuration names it); `variables` are the names of its own
    environment variables, with `*` at the end of a name for every name that begins so; an agent without a program of
    its own gets those of all others too.
    """

    @property
    def name(self) -> str:
        """The name in `[stages]` and `[models]`."""

    @property
    def program(self) -> str | None:
        """The executable to look for on PATH."""

    @property
    def resumes(self) -> bool:
        """Whether it can go on with the session of an earlier run."""

    @property
    def sign_in(self) -> str:
        """What a person does where the program is not signed in: a command, or what to set."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that belong to this agent: keys, addresses, settings."""

    @property
    def session_variables(self) -> tuple[str, ...]:
        """The variables that tie a process to the session in which it was started; no run of any agent gets them."""

    @property
    def worktree_files(self) -> tuple[str, ...]:
        """Patterns of the files in a worktree that are there to instruct or set up the program.

        `DEFAULT_PROTECTED` of `prloom/core/work/inspection.py` has each of them: a worker must not change what the next
        run, or a person's own program, obeys. Files that programs of any kind read, such as `.env`, are not named.
        """

    @property
    def home_files(self) -> tuple[HomeFile, ...]:
        """What a sandbox shows it of the operator's HOME, so that it is signed in and finds its sessions again."""

    @property
    def activity(self) -> Callable[[], Adapter | PlainAdapter]:
        """Return a new adapter, which reads the activity of one run from what the program prints."""

    @property
    def tool_prefix(self) -> str | None:
        """What the program puts before the names of the tools of prloom's MCP server; None where it takes no server."""

    def server_settings(self, server: McpServer, inherit: tuple[Inherited, ...]) -> ServerSettings | None:
        """Return what `mcp.json` has for this program alone; None where it takes no server."""

    def settings_files(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the operator's own settings files that `invocation` has to see, given the agent's environment."""

    def invocation(self, request: RunRequest) -> Invocation:
        """Return how to start the program for this request; raise AgentError when it cannot do what is asked."""

    def interactive(self, *, session: str | None, model: str | None, prompt: str | None) -> tuple[str, ...] | None:
        """Return the command line that begins a talk with a person in a terminal; None where prloom knows none.

        With a `session` it goes on with that one; a `prompt` is what is said first.
        """

    def refusal(self, line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
        """Return the limit that a line of stdout or stderr, printed `at` a time, tells of; never raises on any line.

        Only a line of the program's own may count, never one that holds what the model or a person says.
        """

    def entries(self, line: str) -> tuple[StreamEntry, ...]:
        """Return what a line of stdout tells that the agent said or did; never raises on any line."""

    def least_used(self, output: str) -> TokenUsage | None:
        """Return the least that a run has used itself if its result may count the whole session, earlier runs included.

        None where the result counts the run alone. Never raises on any output.
        """

    def read(self, output: str, ending: ProgramEnding) -> RunResult:
        """Return what the run came to, from its standard output and its end. Never raises on any output."""
