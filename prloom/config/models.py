"""The configuration's sections and keys, each with its default and what it means."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PrivateAttr, Tag

from prloom.config import layers
from prloom.config.layers import Layer
from prloom.config.problems import nearest
from prloom.config.values import (
    AgentName,
    Branch,
    Count,
    Duration,
    Flag,
    Folder,
    Json,
    Login,
    Permission,
    Reaction,
    RepoName,
    Size,
    Text,
    Url,
    Variable,
)
from prloom.errors import ConfigError


class Section(BaseModel):
    """A table of prloom.toml: frozen, and closed to keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Dispatcher(Section):
    """How often the dispatcher looks, and how much it does at once."""

    tick_interval: Duration = Field(
        default=timedelta(seconds=1),
        description="How often the dispatcher looks for work at least; new events wake it at once.",
    )
    max_parallel_plans: Count = Field(
        default=4, ge=1, description="How many plans may have an agent running at the same time."
    )


class Trust(Section):
    """Whose words reach plugins and agents."""

    minimum: Permission = Field(
        default="write",
        description="The least permission on the repository that an author needs; below it, events are held.",
    )
    users: tuple[Login, ...] = Field(default=(), description="People who are trusted whatever their permission.")
    bots: tuple[Login, ...] = Field(default=(), description="Bots whose comments are let in; others are held.")


class Backoff(Section):
    """When something that failed or was put off is tried again."""

    initial: Duration = Field(
        default=timedelta(seconds=30), description="The first wait; each later one is twice as long."
    )
    maximum: Duration = Field(default=timedelta(hours=1), description="The longest wait between two attempts.")
    deadline: Duration = Field(default=timedelta(days=7), description="After this time the event is parked.")
    max_attempts: Count = Field(
        default=0, ge=0, description="After this many attempts the event is parked; 0 means not before the deadline."
    )


class BridgeSection(Section):
    """What every bridge has; `settings` is what the bridge itself gets as its configuration."""

    enabled: Flag = Field(default=True, description="Whether this bridge is used.")
    poll_interval: Duration = Field(default=timedelta(seconds=60), description="How often the source is asked.")

    @property
    def settings(self) -> Mapping[str, object]:
        """Return the keys that are the bridge's own."""
        common = {*BridgeSection.model_fields, "module"}
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in common}
        return {**own, **(self.model_extra or {})}


class GithubBridge(BridgeSection):
    """Pull requests on GitHub or GitHub Enterprise."""

    repo: RepoName = Field(
        default="", description='The repository as "owner/name"; empty means that of the git remote.'
    )
    api_url: Url = Field(
        default="https://api.github.com",
        description='The API\'s address; GitHub Enterprise has "https://HOST/api/v3".',
    )
    acknowledge: Reaction = Field(
        default="eyes",
        description='The reaction by which a comment of somebody trusted is acknowledged as it comes in; "" for none.',
    )


class LocalBridge(BridgeSection):
    """Feedback from the file `prloom/.local/review.md` of each worktree."""

    poll_interval: Duration = Field(default=timedelta(seconds=2), description="How often the files are looked at.")


class CustomBridge(BridgeSection):
    """A bridge of one's own; further keys are handed to it as they are."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Json] = Field(init=False)

    module: Text = Field(
        description="The bridge's Python file, from the repository's root.", examples=["./tools/my_bridge.py"]
    )


class Bridges(Section):
    """Where feedback comes from and replies go to."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CustomBridge] = Field(init=False)

    github: GithubBridge = GithubBridge()
    local: LocalBridge = LocalBridge()

    def named(self) -> Mapping[str, BridgeSection]:
        """Return every configured bridge by its name, the built-in ones first."""
        return {"github": self.github, "local": self.local, **self.__pydantic_extra__}


class PluginSettings(Section):
    """One plugin's settings; further keys are its own and are checked by itself."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Json] = Field(init=False)

    on_error: Literal["defer", "pass"] = Field(
        default="defer",
        description='What becomes of an event when the plugin fails: "defer" tries again, "pass" goes on without.',
    )

    @property
    def own(self) -> Mapping[str, object]:
        """Return the keys that are the plugin's own."""
        return dict(self.__pydantic_extra__)


class Plugins(Section):
    """Which plugins run, and how."""

    enabled: tuple[Text, ...] = Field(
        default=(), description="Plugins to switch on; bundled ones are on unless disabled."
    )
    disabled: tuple[Text, ...] = Field(default=(), description="Plugins that never run; this wins over `enabled`.")
    order: tuple[Text, ...] = Field(
        default=(), description="Plugins that see events first, in this order; the others follow by name."
    )
    hook_timeout: Duration = Field(default=timedelta(seconds=30), description="How long one hook may take.")
    memory_limit: Size = Field(
        default=10**9,
        description="How much memory each process of a plugin may have (on Linux); beyond, it gets a MemoryError.",
        examples=["1GB"],
    )
    isolation: Literal["process", "inline"] = Field(
        default="process",
        description='"process" runs each plugin in a process of its own; "inline" is for debugging a plugin.',
    )
    settings: Mapping[str, PluginSettings] = Field(default_factory=dict, description="Settings by plugin.")

    def settings_of(self, name: str) -> PluginSettings:
        """Return the settings of a plugin, the defaults where it has none; `-` and `_` in its name are the same."""
        slug = name.replace("-", "_")
        for key, settings in self.settings.items():
            if key.replace("-", "_") == slug:
                return settings
        return PluginSettings()


class AgentChoice(Section):
    """An agent and the model that it is to use."""

    agent: AgentName = Field(description="The agent program.", examples=["claude"])
    model: str = Field(
        default="",
        description="The model's name as the agent knows it; empty means the agent's own.",
        examples=["opus"],
    )


def _stage_form(value: object) -> str | None:
    if isinstance(value, str):
        return "name"
    return "table" if isinstance(value, Mapping | AgentChoice) else None


StageSetting = Annotated[
    Annotated[str, Tag("name")] | Annotated[AgentChoice, Tag("table")],
    Discriminator(_stage_form),
]


class Stages(Section):
    """Who does the work: each an agent, a model of `[models]`, or a table {agent = "…", model = "…"}."""

    default: StageSetting = Field(
        default="auto", description='The stages that name nobody; "auto" takes the first agent found on the machine.'
    )
    triage: StageSetting = Field(default="", description="Reads feedback, answers it or turns it into TODOs.")
    worker: StageSetting = Field(default="", description="Implements one TODO at a time.")
    designer: StageSetting = Field(default="", description="Turns a request into a plan.")
    commit_review: StageSetting = Field(default="", description="Reads a worker's commit before it is kept.")


class CommandAgent(Section):
    """The agent named "command": any program of one's own."""

    argv: tuple[Text, ...] = Field(
        default=(),
        description='The program and its arguments, such as ["./my-agent"]; the prompt comes on stdin, the answer goes '
        "to stdout.",
    )


class Agents(Section):
    """The limits and the surroundings of every agent run."""

    timeout: Duration = Field(default=timedelta(minutes=30), description="How long one run may take.")
    silence: Duration = Field(
        default=timedelta(minutes=10), description="How long a run may print nothing before it counts as stuck."
    )
    max_output: Size = Field(
        default=16 * 10**6, description="How much of a run's output is kept; a bare number is bytes.", examples=["16MB"]
    )
    env: tuple[Variable, ...] = Field(
        default=(),
        description="Environment variables that agents may see beside the usual ones; never a forge's token.",
    )
    command: CommandAgent = CommandAgent()


class Config(Section):
    """The whole configuration, checked; make one with `prloom.config.loading.load`."""

    base_branch: Branch = Field(default="main", description="The branch that pull requests go to.")
    worktrees_dir: Folder = Field(
        default=Path("prloom/.local/worktrees"), description="Where each plan's worktree is made."
    )
    dispatcher: Dispatcher = Dispatcher()
    trust: Trust = Trust()
    backoff: Backoff = Backoff()
    bridges: Bridges = Bridges()
    plugins: Plugins = Plugins()
    models: Mapping[str, AgentChoice] = Field(default_factory=dict, description="Names for agents with their models.")
    stages: Stages = Stages()
    agents: Agents = Agents()
    presets: Mapping[str, Mapping[str, Any]] = Field(
        default_factory=dict, description="Overrides of any of the above, for plans that choose them by name."
    )

    _layers: tuple[Layer, ...] = PrivateAttr(default=())

    @classmethod
    def from_layers(cls, sources: tuple[Layer, ...]) -> "Config":
        """Return the configuration that the layers make together; raise pydantic's ValidationError."""
        config = cls.model_validate(layers.merge(sources))
        config._layers = sources  # noqa: SLF001 - its own
        return config

    def for_preset(self, name: str | None) -> "Config":
        """Return the configuration of a plan that chose a preset; without a name, this one.

        Raises ConfigError for a name that is not configured. What stands in presets was checked when it was loaded.
        """
        if name is None:
            return self
        if name not in self.presets:
            close = nearest(name, self.presets)
            remedy = f"did you mean {close}?" if close else f"add [presets.{name}] to prloom.toml"
            raise ConfigError(f"no preset {name} is configured; {remedy}")
        return Config.from_layers(layers.with_preset(self._layers, name))
