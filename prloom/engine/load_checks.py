"""Find what cannot be loaded: each plugin is loaded for that as the dispatcher does it, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prloom.config.models import Config
from prloom.core.text import bounds
from prloom.engine.assembly import plugins
from prloom.engine.plan import plugin_set
from prloom.engine.views import doctor
from prloom.engine.views.doctor import Finding
from prloom.errors import ExtensionError
from prloom.extensions import discovery, filters
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.interface import Registered
from prloom.extensions.host.process import ProcessHost
from prloom.extensions.keys import slug


def of_plugins(config: Config, root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield why plugins that are to run cannot be loaded, and the warnings with which the others are."""
    chosen = plugins.select_plugins(root, config, environ).chosen
    for key, became in load(chosen, config, root, environ).items():
        where, disable = f"plugin {key}", f"`prloom plugins disable {key}`"
        if isinstance(became, str):
            fix = f"correct that, or {disable}; a running dispatcher has to be restarted"
            yield Finding(severity="error", what=became, where=where, fix=fix)
        else:
            for warning in became.warnings:
                yield doctor.of_warning(warning, where, f"change the plugin and restart prloom, or {disable}")


def if_enabled(keys: Collection[str], config: Config, root: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return why plugins could not be loaded if these were enabled, by their keys; their code is run for it."""
    options = plugins.options(config)
    options = replace(
        options,
        enabled=(*options.enabled, *keys),
        disabled=[name for name in options.disabled if slug(name) not in set(map(slug, keys))],
    )
    selection = filters.select(discovery.discover(discovery.plugin_paths(root, environ)), options, environ)
    broken = {each.found.key: each.reason for each in selection.left if each.failed and each.found.error is not None}
    chosen = [found for found in selection.chosen if found.key in keys]
    became = load(chosen, config, root, environ)
    return {
        **{key: reason for key, reason in broken.items() if key in keys},
        **{key: each for key, each in became.items() if isinstance(each, str)},
    }


def load(
    chosen: Sequence[DiscoveredPlugin], config: Config, root: Path, environ: Mapping[str, str]
) -> Mapping[str, Registered | str]:
    """Load the code of plugins, and end it; return what each registered, or why it could not be loaded, by its key.

    What comes with prloom is loaded only where an operator's settings could keep it from that.
    """
    options, known = plugins.options(config), [found.key for found in chosen]
    memory, hosts = config.plugins.memory_limit, []
    for found in chosen:
        table = filters.settings_of(found.key, options, known)
        if (table or found.source != "bundled") and not (found.is_daemon_only or found.is_tools_only):
            hosts.append(ProcessHost(found, table, repo_root=root, environ=environ, memory=memory))
    if not hosts:
        return {}
    return asyncio.run(_each(hosts))


async def _each(hosts: Sequence[ProcessHost]) -> Mapping[str, Registered | str]:
    became = await asyncio.gather(*map(_load, hosts))
    return {host.key: each for host, each in zip(hosts, became, strict=True)}


async def _load(host: ProcessHost) -> Registered | str:
    try:
        return await host.start()
    except ExtensionError as error:
        return bounds.cut(plugin_set.without_name(host.key, error))
    finally:
        await host.stop()
