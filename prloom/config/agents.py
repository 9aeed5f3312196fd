"""The tables `[models]`, `[stages]` and `[agents]`: which agent program does which work, and within which limits."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Field, Tag, create_model

from prloom.config.section import ConfigSection
from prloom.config.values import Count, Duration, Size, Text, Variable
from prloom.model.agent_names import AGENT_NAMES, INHERITING, AgentName, Inherited


class AgentChoice(ConfigSection):
    """An agent and the model that it uses."""

    agent: AgentName = Field(description="The agent program.", examples=["claude"])
    model: str = Field(
        default="",
        description="The model's name as the agent knows it; if it is empty, the agent uses its default.",
        examples=["opus"],
    )


def _stage_form(value: object) -> str | None:
    if isinstance(value, str):
        return "name"
    if isinstance(value, Mapping | AgentChoice):
        return "table"
    return None


StageSetting = Annotated[
    Annotated[str, Tag("name")] | Annotated[AgentChoice, Tag("table")],
    Discriminator(_stage_form),
]


class StagesSection(ConfigSection):
    """Which agent does which work: an agent, a model of `[models]`, or a table {agent = "…", model = "…"}."""

    default: StageSetting = Field(
        default="auto", description='For stages that are not set; "auto" uses the first agent that is installed.'
    )
    triage: StageSetting = Field(default="", description="Reads feedback, and answers it or turns it into TODOs.")
    worker: StageSetting = Field(default="", description="Implements one TODO at a time.")
    designer: StageSetting = Field(default="", description="Turns a request into a plan.")
    commit_review: StageSetting = Field(default="", description="Reviews a worker's commit before it is accepted.")


class AgentSection(ConfigSection):
    """How one agent program is used."""

    max_parallel: Count = Field(
        default=0, description="How many runs of it there may be at the same time; 0: no limit."
    )


class InheritingAgent(AgentSection):
    """How one agent program is used, and what of your own it takes into its runs."""

    inherit: tuple[Inherited, ...] = Field(
        default=(),
        description='What of your own takes part in its runs: "memory", your files with instructions; "hooks", your '
        'hooks, notify programs and plugins; "mcp", your MCP servers.',
    )


class CommandAgent(AgentSection):
    """The agent named "command": a program of your own."""

    argv: tuple[Text, ...] = Field(
        default=(),
        description='The program and its arguments, such as ["./my-agent"]; it gets the prompt on stdin and writes the '
        "answer to stdout.",
    )


class AgentLimits(ConfigSection):
    """The limits and the environment of every agent run."""

    timeout: Duration = Field(default=timedelta(minutes=30), description="How long one run may take.")
    silence: Duration = Field(
        default=timedelta(minutes=10),
        description="How long a run may print nothing before it counts as stuck; the time in which it waits for a tool "
        "of prloom's does not count.",
    )
    max_output: Size = Field(
        default=16 * 10**6,
        description="How much output of a run is kept; a run that prints more is ended. "
        "A number without a unit means bytes.",
        examples=["16MB"],
    )
    env: tuple[Variable, ...] = Field(
        default=(),
        description="Environment variables that agents may see, in addition to the usual ones; never a forge's token.",
    )
    workers: Count = Field(default=4, ge=1, description="How many workers and reviewers may run at the same time.")
    command: CommandAgent = CommandAgent()

    def max_parallel(self, name: str) -> int:
        """Return how many runs of an agent program there may be at the same time; 0: no limit."""
        section = getattr(self, name, None)
        if isinstance(section, AgentSection):
            return section.max_parallel
        return 0

    def inherited(self, name: str) -> tuple[Inherited, ...]:
        """Return what of the operator's own takes part in the runs of an agent program."""
        section = getattr(self, name, None)
        if isinstance(section, InheritingAgent):
            return section.inherit
        return ()


def _section(name: AgentName) -> AgentSection:
    if name in INHERITING:
        return InheritingAgent()
    return AgentSection()


_TABLES: Any = {name: (type(_section(name)), _section(name)) for name in AGENT_NAMES if name != "command"}

if TYPE_CHECKING:
    AgentsSection = AgentLimits
else:
    # The table of each agent program, from the one list of their names.
    AgentsSection = create_model("AgentsSection", __base__=AgentLimits, __doc__=AgentLimits.__doc__, **_TABLES)
