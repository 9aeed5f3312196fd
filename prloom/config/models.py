"""The configuration's sections and keys, each with its default and what it means."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr

from prloom.backoff import Backoff
from prloom.config import layers
from prloom.config.adopt import AdoptSection
from prloom.config.agents import AgentChoice, AgentsSection, StagesSection
from prloom.config.bridges import BridgesSection
from prloom.config.exchange import ExchangeSection
from prloom.config.layers import Layer
from prloom.config.permissions import PermissionsSection
from prloom.config.problems import nearest
from prloom.config.sandbox import SandboxSection
from prloom.config.section import ConfigSection
from prloom.config.values import (
    Branch,
    Count,
    Duration,
    Folder,
    Json,
    Login,
    Size,
    Text,
)
from prloom.config.work import LimitsSection, WorkSection
from prloom.core.delivery.audience import Posting
from prloom.errors import ConfigError
from prloom.model.kinds import Permission


class DispatcherSection(ConfigSection):
    """How often the dispatcher looks for work, and how much it does at the same time."""

    tick_interval: Duration = Field(
        default=timedelta(seconds=1),
        description="The longest time between two looks for work; new events wake the dispatcher at once.",
    )
    max_parallel_plans: Count = Field(default=4, ge=1, description="How many agent runs there may be at the same time.")
    stall_after: Duration = Field(
        default=timedelta(hours=2),
        description="After how long without any movement a person is told, if something is open.",
    )


class ToolsSection(ConfigSection):
    """The tools that agents get over MCP while they run."""

    confirmation_timeout: Duration = Field(
        default=timedelta(minutes=10),
        description="How long a call that a person has to allow, or a question of an agent, waits before it is denied.",
    )


class TrustSection(ConfigSection):
    """Whose text plugins and agents may read."""

    minimum: Permission = Field(
        default="write",
        description="The lowest permission on the repository that an author needs; otherwise, the event is held.",
    )
    users: tuple[Login, ...] = Field(default=(), description="People who are trusted whatever their permission is.")
    bots: tuple[Login, ...] = Field(
        default=(), description="Bots that are trusted, as `name` or `name[bot]`; events by other bots are held."
    )


class OutboxSection(ConfigSection):
    """What becomes of a reply, by the author whom it answers: "auto" sends it, with "draft" it waits for you."""

    trusted: Posting = Field(default="auto", description="Replies to trusted people.")
    others: Posting = Field(
        default="draft",
        description="Replies to people whose text you approved although they are not trusted; `prloom outbox` lists "
        "the drafts.",
    )
    bots: Posting = Field(default="never", description="Replies to bots.")
    signature: Text = Field(
        default="prloom, a program, writes here for the owner of this account",
        description="Who writes, as the description of a pull request says it, with the agent and its model; later "
        "posts are signed with it as far as its first comma. An empty text leaves both out.",
    )


class BackoffSection(ConfigSection):
    """When prloom tries again what failed or was deferred."""

    initial: Duration = Field(default=Backoff.initial, description="The first wait; each later one is twice as long.")
    maximum: Duration = Field(default=Backoff.maximum, description="The longest wait between two attempts.")
    deadline: Duration = Field(default=Backoff.deadline, description="After this time, the event is parked.")
    max_attempts: Count = Field(
        default=Backoff.max_attempts,
        ge=0,
        description="After this many attempts, the event is parked; 0 means no limit but the deadline.",
    )


class PluginSettings(ConfigSection):
    """One plugin's settings; the plugin itself checks further keys."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Json] = Field(init=False)

    on_error: Literal["defer", "pass"] = Field(
        default="defer",
        description='What happens to an event if the plugin fails: "defer" tries again later, "pass" continues '
        "without the plugin.",
    )

    @property
    def own(self) -> Mapping[str, object]:
        """Return the keys that are the plugin's own."""
        return dict(self.__pydantic_extra__)


class PluginsSection(ConfigSection):
    """Which plugins run, and how."""

    enabled: tuple[Text, ...] = Field(
        default=(), description="Plugins to enable; bundled plugins are enabled unless they are in `disabled`."
    )
    disabled: tuple[Text, ...] = Field(default=(), description="Plugins that never run; this overrides `enabled`.")
    order: tuple[Text, ...] = Field(
        default=(), description="Plugins that see events first, in this order; the others follow, by source and name."
    )
    hook_timeout: Duration = Field(default=timedelta(seconds=30), description="How long one hook may run.")
    memory_limit: Size = Field(
        default=10**9,
        description="How much memory each process of a plugin may use (on Linux); beyond that, it gets a MemoryError.",
        examples=["1GB"],
    )
    isolation: Literal["process", "inline"] = Field(
        default="process",
        description='"process" runs each plugin in its own process; "inline" is for debugging a plugin.',
    )
    settings: Mapping[str, PluginSettings] = Field(default_factory=dict, description="Settings by plugin.")
    permissions: Mapping[str, PermissionsSection] = Field(default_factory=dict, description="Permissions by plugin.")

    def settings_of(self, name: str) -> PluginSettings:
        """Return the settings of a plugin, the defaults where it has none; `-` and `_` in its name are the same."""
        slug = name.replace("-", "_")
        for key, settings in self.settings.items():
            if key.replace("-", "_") == slug:
                return settings
        return PluginSettings()


class Config(ConfigSection):
    """The whole configuration, checked; make one with `prloom.config.loading.load`."""

    base_branch: Branch = Field(default="main", description="The branch that pull requests target.")
    worktrees_dir: Folder = Field(
        default=Path(layers.DEFAULT_WORKTREES_DIR), description="Where prloom creates the plans' worktrees."
    )
    dispatcher: DispatcherSection = DispatcherSection()
    trust: TrustSection = TrustSection()
    backoff: BackoffSection = BackoffSection()
    outbox: OutboxSection = OutboxSection()
    bridges: BridgesSection = BridgesSection()
    plugins: PluginsSection = PluginsSection()
    models: Mapping[str, AgentChoice] = Field(default_factory=dict, description="Names for agents with their models.")
    stages: StagesSection = StagesSection()
    agents: AgentsSection = AgentsSection()
    tools: ToolsSection = ToolsSection()
    exchange: ExchangeSection = ExchangeSection()
    work: WorkSection = WorkSection()
    sandbox: SandboxSection = SandboxSection()
    limits: LimitsSection = LimitsSection()
    adopt: tuple[AdoptSection, ...] = Field(
        default=(), description="The rules by which prloom adopts open pull requests by itself."
    )
    presets: Mapping[str, Mapping[str, Any]] = Field(
        default_factory=dict, description="Overrides of any key above, for plans that choose the preset by name."
    )

    _layers: tuple[Layer, ...] = PrivateAttr(default=())

    @classmethod
    def from_layers(cls, sources: tuple[Layer, ...]) -> "Config":
        """Return the configuration that the layers make together; raise pydantic's ValidationError."""
        config = cls.model_validate(layers.merge(sources))
        config._layers = sources  # noqa: SLF001 - its own
        return config

    @property
    def sources(self) -> tuple[Layer, ...]:
        """The layers that the configuration was made of, the strongest last."""
        return self._layers

    def for_preset(self, name: str | None) -> "Config":
        """Return the configuration of a plan that chose a preset; without a name, this one.

        Raises ConfigError for a name that is not configured. What stands in presets was checked when it was loaded.
        """
        if name is None:
            return self
        if name not in self.presets:
            close = nearest(name, self.presets)
            if close:
                remedy = f"did you mean {close}?"
            else:
                remedy = f"add [presets.{name}] to prloom.toml"
            raise ConfigError(f"no preset {name} is configured; {remedy}")
        return Config.from_layers(layers.with_preset(self._layers, name))
