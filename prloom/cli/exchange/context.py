"""Find and open the exchange that a command is about; the options that the commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prloom.cli.context import duration
from prloom.errors import PrloomError
from prloom.exchange import store_url
from prloom.model.own_folder import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prloom.cli.context import Options
    from prloom.exchange.exchange import Exchange


database_option = click.option(
    "--database",
    metavar="PATH|URL",
    help=f"The exchange: {store_url.NAMES}  [default: {store_url.VARIABLE}, [exchange] url, or this repository's]",
)


def open_exchange(given: Options, database: str | None) -> Exchange:
    """Open the exchange that `name_of` names, or else the file in the repository; raises StoreError."""
    from pathlib import Path  # noqa: PLC0415 - `prloom exchange --help` needs none

    from prloom.cli.context import repo_root  # noqa: PLC0415
    from prloom.exchange.exchange import Exchange  # noqa: PLC0415

    try:
        start = repo_root(given)
    except PrloomError:  # no repository is needed where an exchange is named
        start = Path(given.directory).absolute()
    name = name_of(given, database)
    if name is None and not (start / store_url.IN_REPOSITORY).exists():
        _keep_out_of_git(start)
    return Exchange(store_url.open_store(name, start=start))


def name_of(given: Options, database: str | None) -> str | None:
    """Return the exchange that was named, or the environment's, or the server's that the repository configures.

    None for the file in the repository. Raises ConfigError where prloom.toml cannot be read.
    """
    import os  # noqa: PLC0415

    named = database or os.environ.get(store_url.VARIABLE)
    if named:
        return named
    from prloom.cli.context import repo_root  # noqa: PLC0415
    from prloom.config import layers  # noqa: PLC0415

    try:
        root = repo_root(given)
    except PrloomError:
        return None
    section = layers.merge(layers.read(root, os.environ, given.overrides)).get("exchange")
    url = section.get("url") if isinstance(section, dict) else None
    return url if isinstance(url, str) and url else None


def _keep_out_of_git(root: Path) -> None:
    """Keep prloom's folder out of git, before there is anything in it, as `prloom init` does."""
    from contextlib import suppress  # noqa: PLC0415 - once in a repository's life

    from prloom.workspace import repository  # noqa: PLC0415 - likewise
    from prloom.workspace import root as roots  # noqa: PLC0415 - likewise

    with suppress(PrloomError):  # no repository, or a broken one: then git sees nothing anyway, or nothing helps
        found = repository.find(root)
        roots.claim(repository.main_checkout(found))
        repository.exclude(found, found.root / OWN_FOLDER)


def _pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each} is not KEY=VALUE", ctx, param)
    return dict(tuple(each.split("=", 1)) for each in given)  # type: ignore[misc]


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--parent", metavar="ID", help="The message that this one follows, in the same conversation."),
    click.option("--conversation", metavar="ID", help="The conversation that it belongs to."),
    click.option("--producer", metavar="P", help="Which program publishes it."),
    click.option(
        "--meta", "metadata", multiple=True, metavar="K=V", callback=_pairs, help="Metadata; may be repeated."
    ),
    click.option("--delay", type=duration, help="How long workers cannot take it yet."),
    click.option("--key", metavar="K", help="Publish nothing if a message with this key exists."),
    click.option("--concurrency-key", metavar="K", help="Work on one message with this key at a time."),
    click.option("--max-attempts", type=click.IntRange(1, 1_000_000), metavar="N", help="How often it may be tried."),
    click.option("--track/--no-track", default=True, help="Whether `notify` reports its end.  [default: track]"),
)


def message_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what makes a message: its topic, its body, what more may be said about it, and where it goes."""
    command = database_option(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("topic")(click.argument("body", required=False)(command))
