"""`prloom plugins config`: give a background plugin its settings, and its secrets without showing them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.cli.plugins import daemon_names, daemons
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prloom.api.manifest import Setting
    from prloom.extensions.discovery import DiscoveredPlugin
    from prloom.model.record import Json


@click.command("config")
@click.argument("name")
@click.option("--set", "given_values", metavar="KEY=VALUE", multiple=True, help="A setting; asks for nothing then.")
@click.option(
    "--env", "variables", metavar="KEY=VARIABLE", multiple=True, help="The environment variable that holds a secret."
)
@pass_options
def command(given: Options, name: str, *, given_values: tuple[str, ...], variables: tuple[str, ...]) -> None:
    """Ask for the settings of a plugin with a daemon, save them, and start the daemon.

    Settings are saved in prloom.toml. A secret is not shown while you type it, and never saved there: it goes into a
    file of your own outside the repository, or stays in an environment variable that you name with --env.
    """
    selected = daemon_names.selection(given)
    key = daemon_names.resolved(name, selected)
    schema = _schema(next(each for each in selected.chosen if each.key == key))
    if not schema:
        click.echo(f"{terminal.clean(key)} takes no settings.")
        return
    if given_values or variables:
        values = _parsed(schema, given_values)
    else:
        values = _prompted(schema, _present(given, key))
    _save(given, key, schema, values, _named(schema, variables))
    _start(given, key)


def _schema(found: DiscoveredPlugin) -> Mapping[str, Setting]:
    if found.manifest is None:
        return {}
    return found.manifest.config_schema


def _parsed(schema: Mapping[str, Setting], texts: tuple[str, ...]) -> dict[str, Json]:
    """Return the values of `KEY=VALUE` texts; raises PrloomError that never shows a value."""
    from prloom.extensions.background import settings  # noqa: PLC0415 - `prloom plugins --help` needs none

    values = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            raise PrloomError(f"--set {terminal.clean(key)} has no value; write KEY=VALUE")
        try:
            values[key] = settings.parsed(_setting(schema, key), value)
        except ValueError as error:
            raise PrloomError(f"{key}: {error}") from error
    return values


def _named(schema: Mapping[str, Setting], texts: tuple[str, ...]) -> dict[str, str]:
    """Return the variables of `KEY=VARIABLE` texts."""
    from prloom.model import secret_names  # noqa: PLC0415 - `prloom plugins --help` needs none

    named = {}
    for text in texts:
        key, _, variable = text.partition("=")
        if not _setting(schema, key).secret:
            raise PrloomError(f"{key} is not a secret; give it with --set {key}=VALUE")
        if not variable.isidentifier() or secret_names.is_forge_secret(variable):
            raise PrloomError(f"{key}: give the name of an environment variable that is not a forge's token")
        named[key] = variable
    return named


def _setting(schema: Mapping[str, Setting], key: str) -> Setting:
    if key not in schema:
        hint = context.did_you_mean(key, schema) or f"its settings are {', '.join(schema)}"
        raise PrloomError(f"there is no setting {terminal.clean(key)}; {hint}")
    return schema[key]


def _prompted(schema: Mapping[str, Setting], present: Mapping[str, Json]) -> dict[str, Json]:
    """Ask for each setting at the terminal; what is left empty stays as it is."""
    from prloom.extensions.background import settings  # noqa: PLC0415 - `prloom plugins --help` needs none

    values: dict[str, Json] = {}
    for name, setting in schema.items():
        if setting.description:
            click.echo(terminal.clean(setting.description))
        hint = _hint(setting, present.get(name, setting.default))
        while True:
            text = click.prompt(f"{name}{hint}", default="", show_default=False, hide_input=setting.secret)
            if not text:
                break
            try:
                values[name] = settings.parsed(setting, text)
                break
            except ValueError as error:
                click.echo(f"{name}: {error}")
    return values


def _hint(setting: Setting, present: Json) -> str:
    what: str = setting.type
    if setting.choices:
        what = " | ".join(setting.choices)
    if setting.secret:
        return f" ({what}, not shown)"
    if present is None:
        return f" ({what}{', required' if setting.required else ''})"
    return f" ({what}) [{terminal.clean(str(present))}]"


def _present(given: Options, key: str) -> Mapping[str, Json]:
    return dict(context.config(given).plugins.settings_of(key).own)


def _save(
    given: Options, key: str, schema: Mapping[str, Setting], values: Mapping[str, Json], variables: Mapping[str, str]
) -> None:
    from prloom.config.layers import FILE_NAME  # noqa: PLC0415 - `prloom plugins --help` needs none
    from prloom.engine.background.secret_store import SecretStore  # noqa: PLC0415 - likewise
    from prloom.extensions.background.settings import ENV  # noqa: PLC0415 - likewise

    root = context.repo_root(given)
    secrets = {name: str(value) for name, value in values.items() if schema[name].secret}
    plain: dict[str, Json] = {name: value for name, value in values.items() if not schema[name].secret}
    plain |= {name: {ENV: variable} for name, variable in variables.items()}
    if secrets:
        store = SecretStore(root, os.environ)
        store.save(key, secrets)
        click.echo(f"Saved in {terminal.clean(str(store.path))}, which only you can read: {', '.join(secrets)}.")
    if plain or secrets:
        _write(root / FILE_NAME, key, plain, dropped=tuple(secrets))
    if plain:
        click.echo(f"Saved in {FILE_NAME}: {', '.join(plain)}.")


def _write(path: Path, key: str, values: Mapping[str, Json], *, dropped: tuple[str, ...]) -> None:
    """Put settings into the plugin's table, and drop those that are kept elsewhere now; comments are kept."""
    from prloom.cli.plugins import switch  # noqa: PLC0415 - `prloom plugins --help` needs none

    before = ""
    if path.exists():
        before = path.read_bytes().decode("utf-8-sig")
    after = text_with_settings(before, key, values, dropped)
    if after != before:
        switch.write(path, after)


def text_with_settings(text: str, key: str, values: Mapping[str, Json], dropped: tuple[str, ...] = ()) -> str:
    """Return the text of a prloom.toml with these settings of a plugin."""
    import tomlkit  # noqa: PLC0415 - `prloom plugins --help` needs none

    document = tomlkit.parse(text)
    table = document
    for name in ("plugins", "settings", _table_name(document, key)):
        if name not in table:
            table[name] = tomlkit.table(is_super_table=name in {"plugins", "settings"})
        table = table[name]
    for name in dropped:
        if name in table:
            del table[name]
    for name, value in values.items():
        if isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            table[name] = inline
        else:
            table[name] = value
    return tomlkit.dumps(document)


def _table_name(document: Mapping[str, Json], key: str) -> str:
    """Return the name under which the plugin's table is there already, or its key."""
    present = document.get("plugins", {}).get("settings", {})
    return next((name for name in present if name.replace("-", "_") == key.replace("-", "_")), key)


def _start(given: Options, key: str) -> None:
    """Restart the daemon where a dispatcher runs, so that it gets the settings."""
    from prloom.engine.views import runtime_status  # noqa: PLC0415 - `prloom plugins --help` needs none
    from prloom.storage import paths  # noqa: PLC0415 - likewise
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    local = SafeDir.open(context.repo_root(given), *paths.LOCAL)
    if local is None or not runtime_status.dispatcher(local).running:
        click.echo(f"{terminal.clean(key)} gets them at the next `prloom start`.")
        return
    daemons.order(given, "restart", key)
    click.echo(f"The daemon of {terminal.clean(key)} runs with them.")
