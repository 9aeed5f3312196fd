"""Decide which of the plugins that exist are to run, in which order, and why the others are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote

from prloom.core.text import bounds
from prloom.extensions import keys
from prloom.extensions.discovery import SOURCES, DiscoveredPlugin
from prloom.model import secret_names
from prloom.model.record import Json

KINDS = ("standalone",)
"""The kinds of plugins that this prloom runs."""


@dataclass(frozen=True)
class PluginOptions:
    """What the configuration says of plugins: their keys, their settings by key, and who has permissions."""

    enabled: Sequence[str] = ()
    disabled: Sequence[str] = ()
    order: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    permissions: Sequence[str] = ()


@dataclass(frozen=True)
class SkippedPlugin:
    """A plugin that does not run, and why; `failed` says that it should, and that something is wrong with it."""

    found: DiscoveredPlugin
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class PluginFailure:
    """A plugin that is enabled and cannot even be loaded: its name, its source ("" where it was not found), and why."""

    name: str
    source: str
    reason: str


@dataclass(frozen=True)
class PluginSelection:
    """The plugins to load, in their order; those left out, each with its reason; and warnings for the operator.

    `missing` maps the names in `plugins.enabled` that no plugin has to what is to be said of them.
    """

    chosen: tuple[DiscoveredPlugin, ...] = ()
    left: tuple[SkippedPlugin, ...] = ()
    warnings: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """The plugins that are enabled and cannot be loaded; two that disable each other are named once."""
        broken = [PluginFailure(each.found.key, each.found.source, each.reason) for each in self.left if each.failed]
        broken += [PluginFailure(name, "", reason) for name, reason in self.missing.items()]
        return tuple(dict.fromkeys(replace(each, reason=bounds.cut(each.reason)) for each in broken))


def select(found: Sequence[DiscoveredPlugin], options: PluginOptions, environ: Mapping[str, str]) -> PluginSelection:
    """Return which plugins run: not disabled, of a known kind, enabled, the last of their key, and able to."""
    known = {plugin.key for plugin in found}
    wanted = _resolved(options, known)
    left: list[SkippedPlugin] = []
    able = _sorted_out(found, lambda plugin: _disabled(plugin, wanted), left)
    able = _sorted_out(able, _unsupported_kind, left, failed=_is_requested(wanted, known))
    able = _sorted_out(able, lambda plugin: _not_enabled(plugin, wanted), left)
    able = _sorted_out(able, _replaced(able), left)
    able = _sorted_out(able, lambda plugin: plugin.error, left, failed=_always)
    able = _sorted_out(able, _clashes(able), left, failed=_always)
    able = _sorted_out(
        able, lambda plugin: _missing_variables(plugin, environ), left, failed=_is_requested(wanted, known)
    )
    return PluginSelection(
        _ordered(able, wanted.order),
        tuple(left),
        _unmatched(options, known),
        _missing("plugins.enabled", options.enabled, known),
    )


def settings_of(key: str, options: PluginOptions, known: Iterable[str]) -> Mapping[str, Json]:
    """Return the settings of a plugin: the table of its key, or of the only name that means it."""
    keys_known = set(known)
    for name, table in options.settings.items():
        if keys.resolve(name, keys_known) == key:
            return table
    return {}


def _resolved(options: PluginOptions, known: set[str]) -> PluginOptions:
    """Return the options with each name made the key that it means; what means nothing is left out."""

    def resolved(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(key for name in names if (key := keys.resolve(name, known)) is not None)

    return PluginOptions(
        resolved(options.enabled), resolved(options.disabled), resolved(options.order), options.settings
    )


def _never(_: DiscoveredPlugin) -> bool:
    return False


def _always(_: DiscoveredPlugin) -> bool:
    return True


def _is_requested(options: PluginOptions, known: Collection[str]) -> Callable[[DiscoveredPlugin], bool]:
    """Tell whether the operator asked for a plugin; bundled ones are on, and are missed once they are configured."""
    configured = {keys.resolve(name, known) for name in options.settings}

    def is_requested(plugin: DiscoveredPlugin) -> bool:
        return plugin.key in options.enabled or (plugin.source == "bundled" and plugin.key in configured)

    return is_requested


def _sorted_out(
    plugins: Iterable[DiscoveredPlugin],
    reason: Callable[[DiscoveredPlugin], str | None],
    left: list[SkippedPlugin],
    *,
    failed: Callable[[DiscoveredPlugin], bool] = _never,
) -> list[DiscoveredPlugin]:
    """Return the plugins for which there is no reason against; the others are added to `left`."""
    kept = []
    for plugin in plugins:
        why = reason(plugin)
        if why is None:
            kept.append(plugin)
        else:
            left.append(SkippedPlugin(plugin, why, failed(plugin)))
    return kept


def _disabled(plugin: DiscoveredPlugin, options: PluginOptions) -> str | None:
    if plugin.key in options.disabled:
        return "disabled: it is listed in plugins.disabled"
    return None


def _unsupported_kind(plugin: DiscoveredPlugin) -> str | None:
    if plugin.manifest:
        kind = plugin.manifest.kind
    else:
        kind = "standalone"
    if kind in KINDS:
        return None
    return f"of kind {kind!r}, which this prloom does not support; it supports {', '.join(KINDS)}"


def _not_enabled(plugin: DiscoveredPlugin, options: PluginOptions) -> str | None:
    if (plugin.source == "bundled" and not runs_daemon(plugin)) or plugin.key in options.enabled:
        return None
    return f"not enabled; `prloom plugins enable {plugin.key}` enables it"


def runs_daemon(plugin: DiscoveredPlugin) -> bool:
    """Whether a plugin brings a daemon: then it is off until it is enabled, even where it is bundled."""
    return plugin.manifest is not None and plugin.manifest.background is not None


def _replaced(plugins: Sequence[DiscoveredPlugin]) -> Callable[[DiscoveredPlugin], str | None]:
    last = {plugin.key: plugin for plugin in sorted(plugins, key=_rank)}

    def reason(plugin: DiscoveredPlugin) -> str | None:
        winner = last[plugin.key]
        if winner.source == plugin.source:
            return None
        return f"replaced by the {winner.source} plugin of the same key ({winner.place})"

    return reason


def _clashes(plugins: Sequence[DiscoveredPlugin]) -> Callable[[DiscoveredPlugin], str | None]:
    """Return the reason of two plugins that would be loaded as the same module: neither is."""
    alike: defaultdict[str, list[DiscoveredPlugin]] = defaultdict(list)
    for plugin in plugins:
        alike[keys.slug(plugin.key)].append(plugin)

    def reason(plugin: DiscoveredPlugin) -> str | None:
        group = alike[keys.slug(plugin.key)]
        if len(group) == 1:
            return None
        if len({each.key for each in group}) == 1:
            places = " and ".join(each.place for each in group)
            return f"{places} have the same name, {plugin.key}, so none of them is loaded; rename or remove one"
        both = " and ".join(f"{each.key} ({each.place})" for each in group)
        return f"{both} would be loaded as the same module {keys.module_name(plugin.key)}; rename or disable one"

    return reason


def _missing_variables(plugin: DiscoveredPlugin, environ: Mapping[str, str]) -> str | None:
    """Return which variables the plugin asks for and does not get."""
    if plugin.manifest:
        needs = plugin.manifest.requires_env
    else:
        needs = ()
    secret = [name for name in needs if secret_names.is_forge_secret(name)]
    if secret:
        return f"it asks for {', '.join(secret)}, but plugins must not get a forge's token"
    missing = [name for name in needs if not environ.get(name)]
    if missing:
        return f"it needs {', '.join(missing)} in the environment"
    return None


def _ordered(plugins: Iterable[DiscoveredPlugin], order: Sequence[str]) -> tuple[DiscoveredPlugin, ...]:
    places = {key: place for place, key in reversed(list(enumerate(order)))}
    return tuple(sorted(plugins, key=lambda plugin: (places.get(plugin.key, len(order)), _rank(plugin), plugin.key)))


def _rank(plugin: DiscoveredPlugin) -> int:
    return SOURCES.index(plugin.source)


def _unmatched(options: PluginOptions, known: set[str]) -> tuple[str, ...]:
    """Return a warning for each name in the configuration that means no plugin."""
    named = {
        "plugins.enabled": options.enabled,
        "plugins.disabled": options.disabled,
        "plugins.order": options.order,
        "plugins.settings": tuple(options.settings),
        "plugins.permissions": options.permissions,
    }
    return tuple(text for where, names in named.items() for text in _missing(where, names, known).values())


def _missing(where: str, names: Iterable[str], known: Collection[str]) -> Mapping[str, str]:
    """Return what is to be said of each name that means no plugin, by name."""
    found = {}
    for name in names:
        if keys.resolve(name, known) is None:
            close = keys.nearest(name, known)
            hint = "; `prloom plugins list` lists all plugins"
            if where == "plugins.enabled":
                hint += f", and `prloom plugins disable {quote(name)}` takes this name out"
            if close:
                hint = f"; did you mean {close!r}?"
            found[name] = f"{where}: there is no plugin {name!r}{hint}"
    return found
