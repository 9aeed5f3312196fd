"""Find the background plugins that are enabled, and say of a name that means none of them why that is so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from prloom.cli import context
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prloom.cli.context import Options
    from prloom.extensions.discovery import DiscoveredPlugin
    from prloom.extensions.filters import PluginSelection

_LIST: Final = "`prloom plugins list` lists all plugins"


def selection(given: Options) -> PluginSelection:
    """Return which plugins run, and why the others do not."""
    from prloom.engine.assembly.plugins import select_plugins  # noqa: PLC0415 - `prloom plugins --help` needs none

    return select_plugins(context.repo_root(given), context.config(given), os.environ)


def running(selected: PluginSelection) -> tuple[DiscoveredPlugin, ...]:
    """Return the enabled plugins that have a daemon."""
    from prloom.extensions import filters  # noqa: PLC0415 - likewise

    return tuple(found for found in selected.chosen if filters.runs_daemon(found))


def broken(selected: PluginSelection) -> Mapping[str, str]:
    """Return the enabled plugins that cannot be loaded, and why.

    One whose manifest cannot be read is among them: it may be the manifest of a background plugin.
    """
    from prloom.extensions import filters  # noqa: PLC0415 - likewise

    names = {each.found.key for each in selected.left if each.found.manifest is None or filters.runs_daemon(each.found)}
    return {each.name: _not_loaded(each.reason) for each in selected.failures if each.source and each.name in names}


def resolved(name: str, selected: PluginSelection) -> str:
    """Return the key of the background plugin that a name means; raises PrloomError that says why there is none."""
    from prloom.extensions import keys  # noqa: PLC0415 - likewise

    known = [found.key for found in running(selected)]
    key = keys.resolve(name, known)
    if key is not None:
        return key
    key = keys.resolve(name, [found.key for found in selected.chosen])
    if key is not None:
        raise PrloomError(f"plugin {key} has no background process; {_LIST}")
    key = keys.resolve(name, [each.found.key for each in selected.left])
    if key is not None:
        raise PrloomError(f"plugin {key} does not run: {_why(key, selected)}")
    hint = context.did_you_mean(name, known) or _LIST
    raise PrloomError(f"no plugin {name} with a background process is enabled; {hint}")


def _why(key: str, selected: PluginSelection) -> str:
    """Return why a plugin does not run: what is broken, or that it is not to run."""
    failed = [each.reason for each in selected.failures if each.name == key]
    if failed:
        return _not_loaded(failed[-1])
    return [each.reason for each in selected.left if each.found.key == key][-1]


def _not_loaded(reason: str) -> str:
    return f"it cannot be loaded: {reason}; correct that, and start the dispatcher again"
