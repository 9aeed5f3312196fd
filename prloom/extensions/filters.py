"""Decide which of the plugins that exist are to run, in which order, and why the others are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prloom.extensions import environment, keys
from prloom.extensions.discovery import SOURCES, Found
from prloom.model.record import Json

KINDS = ("standalone",)
"""The kinds of plugins that this prloom runs."""


@dataclass(frozen=True)
class Wishes:
    """What the configuration says of plugins: their keys, and their settings by key."""

    enabled: Sequence[str] = ()
    disabled: Sequence[str] = ()
    order: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True)
class Left:
    """A plugin that does not run, and why; `failed` says that it should, and that something is wrong with it."""

    found: Found
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Selection:
    """The plugins to load, in their order; those left out, each with its reason; and warnings for the operator."""

    chosen: tuple[Found, ...] = ()
    left: tuple[Left, ...] = ()
    warnings: tuple[str, ...] = ()


def select(found: Sequence[Found], wishes: Wishes, environ: Mapping[str, str]) -> Selection:
    """Return which plugins run: not disabled, of a known kind, enabled, the last of their key, and able to."""
    known = {plugin.key for plugin in found}
    wanted = _resolved(wishes, known)
    left: list[Left] = []
    able = _sorted_out(found, lambda plugin: _unwanted(plugin, wanted), left)
    able = _sorted_out(able, _replaced(able), left)
    able = _sorted_out(able, lambda plugin: plugin.error, left, failed=True)
    able = _sorted_out(able, _clashes(able), left, failed=True)
    able = _sorted_out(able, lambda plugin: _lacking(plugin, environ), left)
    return Selection(_ordered(able, wanted.order), tuple(left), _unmatched(wishes, known))


def settings_of(key: str, wishes: Wishes, known: Iterable[str]) -> Mapping[str, Json]:
    """Return the settings of a plugin: the table of its key, or of the only name that means it."""
    keys_known = set(known)
    for name, table in wishes.settings.items():
        if keys.resolve(name, keys_known) == key:
            return table
    return {}


def _resolved(wishes: Wishes, known: set[str]) -> Wishes:
    """Return the wishes with each name made the key that it means; what means nothing is left out."""

    def resolved(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(key for name in names if (key := keys.resolve(name, known)) is not None)

    return Wishes(resolved(wishes.enabled), resolved(wishes.disabled), resolved(wishes.order))


def _sorted_out(
    plugins: Iterable[Found], reason: Callable[[Found], str | None], left: list[Left], *, failed: bool = False
) -> list[Found]:
    """Return the plugins for which there is no reason against; the others are added to `left`."""
    kept = []
    for plugin in plugins:
        why = reason(plugin)
        if why is None:
            kept.append(plugin)
        else:
            left.append(Left(plugin, why, failed))
    return kept


def _unwanted(plugin: Found, wishes: Wishes) -> str | None:
    """Return why the operator, or its kind, keeps the plugin from running."""
    kind = plugin.manifest.kind if plugin.manifest else "standalone"
    if plugin.key in wishes.disabled:
        return "disabled: it stands in plugins.disabled"
    if kind not in KINDS:
        return f"of kind {kind!r}, which this prloom does not run; it runs {', '.join(KINDS)}"
    if plugin.source != "bundled" and plugin.key not in wishes.enabled:
        return f"not enabled; `prloom plugins enable {plugin.key}` enables it"
    return None


def _replaced(plugins: Sequence[Found]) -> Callable[[Found], str | None]:
    last = {plugin.key: plugin for plugin in sorted(plugins, key=_rank)}

    def reason(plugin: Found) -> str | None:
        winner = last[plugin.key]
        if winner.source == plugin.source:
            return None
        return f"replaced by the {winner.source} plugin of the same key ({winner.place})"

    return reason


def _clashes(plugins: Sequence[Found]) -> Callable[[Found], str | None]:
    """Return the reason of two plugins that would be loaded as the same module: neither is."""
    alike: defaultdict[str, list[Found]] = defaultdict(list)
    for plugin in plugins:
        alike[keys.slug(plugin.key)].append(plugin)

    def reason(plugin: Found) -> str | None:
        others = [other for other in alike[keys.slug(plugin.key)] if other is not plugin]
        if not others:
            return None
        both = " and ".join(f"{other.key} ({other.place})" for other in (plugin, *others))
        return f"{both} would be loaded as the same module {keys.module_name(plugin.key)}; rename or disable one"

    return reason


def _lacking(plugin: Found, environ: Mapping[str, str]) -> str | None:
    """Return which variables the plugin asks for and does not get."""
    needs = plugin.manifest.requires_env if plugin.manifest else ()
    secret = [name for name in needs if environment.is_forge_secret(name)]
    if secret:
        return f"it asks for {', '.join(secret)}, but a forge's token is given to no plugin"
    missing = [name for name in needs if not environ.get(name)]
    return f"it needs {', '.join(missing)} in the environment" if missing else None


def _ordered(plugins: Iterable[Found], order: Sequence[str]) -> tuple[Found, ...]:
    places = {key: place for place, key in reversed(list(enumerate(order)))}
    return tuple(sorted(plugins, key=lambda plugin: (places.get(plugin.key, len(order)), _rank(plugin), plugin.key)))


def _rank(plugin: Found) -> int:
    return SOURCES.index(plugin.source)


def _unmatched(wishes: Wishes, known: set[str]) -> tuple[str, ...]:
    """Return a warning for each name in the configuration that means no plugin."""
    named = {
        "plugins.enabled": wishes.enabled,
        "plugins.disabled": wishes.disabled,
        "plugins.order": wishes.order,
        "plugins.settings": tuple(wishes.settings),
    }
    warnings = []
    for where, names in named.items():
        for name in names:
            if keys.resolve(name, known) is None:
                close = keys.nearest(name, known)
                hint = f"; did you mean {close!r}?" if close else "; `prloom plugins list` shows those there are"
                warnings.append(f"{where}: there is no plugin {name!r}{hint}")
    return tuple(warnings)
