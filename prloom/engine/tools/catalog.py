"""List the tools and skills that plugins and prloom itself offer, and find the one that a call names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prloom.core.plugins import tool_rules
from prloom.engine.plan.plugin_set import PluginSet
from prloom.model.tool import ToolSpec


class ToolCatalog:
    """All tools: those of the plugins, as they are registered or stand in the manifests, and prloom's own."""

    def __init__(self, plugins: PluginSet, own: Sequence[ToolSpec]) -> None:
        self._plugins = plugins
        self._own = tuple(own)

    def offered(self, stage: str, disabled: Sequence[str] = ()) -> tuple[ToolSpec, ...]:
        """Return the tools that an agent of a stage gets, without those of plugins that its plan switches off."""
        return (*self._own, *tool_rules.visible(self._plugins.tools(disabled), stage))

    def find(self, name: str, stage: str, disabled: Sequence[str] = ()) -> ToolSpec | None:
        """Return the tool of a name, or None where the agents of the stage get none of that name."""
        return next((tool for tool in self.offered(stage, disabled) if tool.name == name), None)

    def clash_errors(self) -> Mapping[str, str]:
        """Return, by plugin, the error that it shows because another has a tool of the same name."""
        found = tool_rules.clashes(self._plugins.tools())
        return {key: tool_rules.clash_error(name, owners, key) for name, owners in found.items() for key in owners}
