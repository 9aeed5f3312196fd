"""`prloom plugins enable` and `disable`: switch plugins on and off in prloom.toml, whole or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Literal

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from prloom.cli.context import Options
    from prloom.engine.catalog import PluginLine


@click.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@pass_options
def enable(given: Options, names: tuple[str, ...]) -> None:
    """Enable plugins in prloom.toml; its comments are kept.

    Each is loaded for that, in a process of its own. If one cannot be loaded, nothing is changed, unless only its
    settings are at fault.
    """
    _switch(given, names, "enable")


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@pass_options
def disable(given: Options, names: tuple[str, ...]) -> None:
    """Disable plugins in prloom.toml; its comments are kept."""
    _switch(given, names, "disable")


SwitchVerb = Literal["enable", "disable"]

_MODE = 0o644


def _switch(given: Options, names: Sequence[str], verb: SwitchVerb) -> None:
    """Edit prloom.toml so that the plugins are on, or off, and say what became of each.

    Raises PrloomError, before anything is written, for a name that no plugin has, and for a plugin that cannot be
    loaded.
    """
    from prloom.config.layers import FILE_NAME  # noqa: PLC0415
    from prloom.extensions import keys  # noqa: PLC0415

    path = context.repo_root(given) / FILE_NAME
    known = _all_plugins(given)
    names_known = {plugin.name for plugin in known}
    if verb == "disable":  # also one whose file is gone
        names_known.update(context.config(given).plugins.enabled)
    chosen = [_key(name, names_known) for name in names]
    unset: Mapping[str, str] = {}
    if verb == "enable":
        unset = _without_settings(given, chosen)
    if path.exists():
        before = text = path.read_bytes().decode("utf-8-sig")
    else:
        before = text = ""
    for key in chosen:
        alike = [plugin for plugin in known if keys.slug(plugin.name) == keys.slug(key)]
        rivals = {plugin.name for plugin in alike} - {key}
        on_by_default = {plugin.source == "bundled" and not plugin.background for plugin in alike}
        if verb == "enable":
            text = text_with_enabled(text, key, listed=on_by_default != {True}, rivals=rivals)
        else:
            text = text_with_disabled(text, key, listed=True in on_by_default, rivals=rivals)
    changed = text != before
    if changed:
        write(path, text)
    _report(chosen, _all_plugins(given), verb, changed=changed)
    for key, reason in unset.items():
        click.echo(f"{terminal.clean(key)} cannot be loaded before its settings are right: {terminal.clean(reason)}.")
    if changed and _dispatcher_runs(given):
        click.echo("The running dispatcher does not notice this change; restart it.")


def _all_plugins(given: Options) -> tuple[PluginLine, ...]:
    from prloom.engine import catalog  # noqa: PLC0415 - see switch

    return catalog.plugins(context.repository(given), context.config(given), os.environ).plugins


def _without_settings(given: Options, chosen: Sequence[str]) -> Mapping[str, str]:
    """Load the plugins; return those that only lack settings, with what is wrong. Raises PrloomError for any other."""
    from prloom.engine import load_checks  # noqa: PLC0415 - see switch
    from prloom.extensions import inputs  # noqa: PLC0415

    with terminal.progress("loading"):
        failed = load_checks.if_enabled(chosen, context.config(given), context.repo_root(given), os.environ)
    for key, reason in failed.items():
        if not inputs.is_of_settings(reason, key):
            raise PrloomError(f"cannot enable {key}: {reason}")
    return failed


def _dispatcher_runs(given: Options) -> bool:
    from prloom.engine.views import runtime_status  # noqa: PLC0415 - see switch
    from prloom.storage import paths  # noqa: PLC0415
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415

    local = SafeDir.open(context.repository(given).root, *paths.LOCAL)
    if local is None:
        return False
    with local:
        return runtime_status.dispatcher(local).running


def _key(name: str, known: Collection[str]) -> str:
    from prloom.extensions import keys  # noqa: PLC0415 - see switch

    key = keys.resolve(name, known)
    if key is None:
        hint = context.did_you_mean(name, known) or "`prloom plugins list` lists all plugins"
        raise PrloomError(f"there is no plugin {name}; {hint}")
    return key


def write(path: Path, text: str) -> None:
    """Write the file whole, with the permissions that it had."""
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - see switch

    if path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
    else:
        mode = _MODE
    with SafeDir.make(path.parent) as folder:
        folder.replace(path.name, text.encode(), mode=mode)


def _report(keys: Sequence[str], now: Sequence[PluginLine], verb: SwitchVerb, *, changed: bool) -> None:
    for key in keys:
        lines = [plugin for plugin in now if plugin.name == key]
        runs = any(plugin.state == "enabled" for plugin in lines)
        why = next((plugin.reason for plugin in lines if plugin.reason and plugin.state != "enabled"), None)
        name = terminal.clean(key)
        if runs == (verb == "enable"):
            click.echo(f"{name} is {'' if changed else 'already '}{verb}d.")
        elif runs:
            click.echo(f"{name} is disabled in prloom.toml, but still enabled by PRLOOM_PLUGINS__… or --set.")
        else:
            click.echo(f"{name} is enabled in prloom.toml, but does not run: {terminal.clean(why or 'see doctor')}.")


def text_with_enabled(text: str, key: str, *, listed: bool, rivals: Collection[str] = ()) -> str:
    """Return the text with the plugin not in `plugins.disabled`; and, if it must be listed, in `plugins.enabled`.

    A name in a list may differ from the key in `-` and `_`, unless it is that of a rival.
    """
    return _switched(text, key, rivals, off="disabled", on="enabled" if listed else None)


def text_with_disabled(text: str, key: str, *, listed: bool, rivals: Collection[str] = ()) -> str:
    """Return the text with the plugin not in `plugins.enabled`; and, if it must be listed, in `plugins.disabled`."""
    return _switched(text, key, rivals, off="enabled", on="disabled" if listed else None)


def _switched(text: str, key: str, rivals: Collection[str], *, off: str, on: str | None) -> str:
    import tomlkit  # noqa: PLC0415 - `prloom plugins --help` needs none

    document = tomlkit.parse(text)
    plugins = document.get("plugins")
    if plugins is None and on is None:
        return text
    if plugins is None:
        plugins = document["plugins"] = tomlkit.table()
    for name in [name for name in plugins.get(off, ()) if _same(name, key, rivals)]:
        plugins[off].remove(name)
    if on is not None and not any(_same(name, key, rivals) for name in plugins.get(on, ())):
        if on not in plugins:
            plugins[on] = tomlkit.array()
        plugins[on].append(key)
    return tomlkit.dumps(document)


def _same(name: str, key: str, rivals: Collection[str]) -> bool:
    return name not in rivals and name.replace("-", "_") == key.replace("-", "_")
