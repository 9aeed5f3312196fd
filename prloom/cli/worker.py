"""`prloom worker`: do the runs of agents for a dispatcher on another machine."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, duration, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from datetime import timedelta

    from prloom.engine.machine.machine import Machine
    from prloom.exchange.worker.worker import WorkerEvent

_MOST_WORKERS = 100


def _names(_ctx: click.Context, _param: click.Parameter, given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


@click.command(epilog="Example:  prloom worker --stages worker,triage --agents claude --concurrency 2")
@click.option(
    "--stages", metavar="NAMES", callback=_names, help="Stages whose runs to do, with commas.  [default: all]"
)
@click.option(
    "--agents", metavar="NAMES", callback=_names, help="Agents to run, with commas.  [default: all that are here]"
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, _MOST_WORKERS),
    default=1,
    show_default=True,
    metavar="N",
    help="How many runs to do at the same time.",
)
@click.option(
    "--lease",
    type=duration,
    default="60s",
    show_default=True,
    help="How long a machine may be silent before another one takes over its run.",
)
@pass_options
def command(
    given: Options, *, stages: tuple[str, ...], agents: tuple[str, ...], concurrency: int, lease: timedelta
) -> None:
    """Do the runs of agents for a dispatcher on another machine, until you interrupt it.

    Both machines have a checkout of the same repository, and the same `[exchange] url`. Ctrl-C lets runs finish; a
    second one returns them, and other workers do them.
    """
    from prloom.engine.machine import machine as machines  # noqa: PLC0415 - `prloom worker --help` needs none
    from prloom.exchange import store_url  # noqa: PLC0415 - likewise
    from prloom.exchange.errors import StoreError  # noqa: PLC0415 - likewise
    from prloom.workspace import root as roots  # noqa: PLC0415 - likewise

    found, config = roots.find(Path(given.directory)), context.config(given)
    url = config.exchange.url
    if not url:
        raise PrloomError(
            "no exchange is configured that other machines can reach; set [exchange] url in prloom.toml to that of a "
            f'{store_url.SERVER_PRODUCTS} server, such as "{store_url.SERVER_EXAMPLE}"'
        )
    machine = machines.describe(found.path, config, os.environ, stages=stages, agents=agents)
    machines.prepare(machine)
    policy = machine.policy
    _say(
        f"Works for {terminal.clean(machines.shown(machine))}: "
        f"stages {', '.join(policy.stages)}; agents {', '.join(policy.agents)}. Press Ctrl-C to stop."
    )
    try:
        _work(machine, url, concurrency, lease)
    except StoreError as error:
        raise PrloomError(f"the exchange cannot be used: {error}") from error
    raise KeyboardInterrupt("stopped by Ctrl-C or SIGTERM; other workers get the runs that it has not finished")


def _work(machine: Machine, url: str, concurrency: int, lease: timedelta) -> None:
    from functools import partial  # noqa: PLC0415 - `prloom worker --help` needs none

    from prloom.engine.machine import workers  # noqa: PLC0415 - likewise
    from prloom.exchange import connect  # noqa: PLC0415 - likewise

    pool = workers.build(machine, partial(connect, url), name=url, lease=lease, report=show)
    pool.work_with(concurrency)


def show(event: WorkerEvent) -> None:
    """Print an event; a stderr that nobody reads ends no work."""
    from prloom.cli.exchange import run  # noqa: PLC0415 - `prloom worker --help` needs none

    _say(run.line(event))


def _say(line: str) -> None:
    with suppress(OSError):
        click.echo(f"{terminal.clock(datetime.now(UTC))}  {line}", err=True)
        sys.stderr.flush()
