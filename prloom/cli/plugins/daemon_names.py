"""Find the background plugin that a name means, and say of a name that means none why that is so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from prloom.cli import context
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Collection

    from prloom.cli.context import Options
    from prloom.engine.views.daemons import DaemonStatus
    from prloom.extensions.filters import PluginSelection
    from prloom.storage.safe_dir import SafeDir

_LIST: Final = "`prloom plugins list` lists all plugins"


def selection(given: Options) -> PluginSelection:
    """Return which plugins run, and why the others do not."""
    from prloom.engine.assembly.plugins import select_plugins  # noqa: PLC0415 - `prloom plugins --help` needs none

    return select_plugins(context.repo_root(given), context.config(given), os.environ)


def local(given: Options) -> SafeDir | None:
    """Return the folder of prloom's own files; None where there is none yet."""
    from prloom.storage import paths  # noqa: PLC0415 - likewise
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    return SafeDir.open(context.repo_root(given), *paths.LOCAL)


def resolved(name: str, selected: PluginSelection, reported: Collection[str] = ()) -> str:
    """Return the key of the background plugin that a name means; raises PrloomError that says why there is none.

    It is one that is to run, or that of one of the `reported` daemons, which a dispatcher has from its start.
    """
    from prloom.engine import background_plugins  # noqa: PLC0415 - likewise
    from prloom.extensions import keys  # noqa: PLC0415 - likewise

    known = [found.key for found in background_plugins.enabled(selected)]
    key = keys.resolve(name, [*known, *reported])
    if key is not None:
        return key
    key = keys.resolve(name, [found.key for found in selected.chosen])
    if key is not None:
        raise PrloomError(f"plugin {key} has no background process; {_LIST}")
    key = keys.resolve(name, [each.found.key for each in selected.left])
    if key is not None:
        raise PrloomError(f"plugin {key} does not run: {background_plugins.why_not(key, selected)}")
    hint = context.did_you_mean(name, known) or _LIST
    raise PrloomError(f"no plugin {name} with a background process is enabled; {hint}")


def of_daemon(given: Options, name: str) -> str:
    """Return the key that a name means: of a daemon that the running dispatcher has, or of a plugin that is to run.

    A daemon outlasts changes of its plugin and of prloom.toml, so what is broken there keeps nobody from naming it.
    """
    reported = [each.name for each in _reported(given)]
    if name in reported:
        return name
    return resolved(name, selection(given), reported)


def to_start(given: Options, name: str) -> str:
    """Return the key of a plugin whose daemon can be started; raises PrloomError that says why it cannot be."""
    from prloom.engine import background_plugins  # noqa: PLC0415 - likewise

    selected = selection(given)
    key = resolved(name, selected, [each.name for each in _reported(given) if each.state != "stopped"])
    why = background_plugins.why_not(key, selected)
    if why is not None:
        stop = f"`prloom plugins stop {key}` stops the daemon that runs"
        raise PrloomError(f"the daemon of plugin {key} cannot be started again: {why}; {stop}")
    return key


def _reported(given: Options) -> tuple[DaemonStatus, ...]:
    """Return the daemons that the running dispatcher has, since its start."""
    from prloom.engine.views import daemons, runtime_status  # noqa: PLC0415 - likewise

    found = local(given)
    if found is None or not runtime_status.dispatcher(found).running:
        return ()
    return daemons.reported(found, running=True)
