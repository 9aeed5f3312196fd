"""`prloom start`: run the dispatcher in this process, and let signals end it in order."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from prloom.config.models import Config
    from prloom.extensions.bridges import FailedBridge, LoadedBridges

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_STOPPED = "stopped by Ctrl-C or SIGTERM; the next `prloom start` goes on from here"
RUNNING = "prloom is running. Press Ctrl-C to stop it; run `prloom status` in another terminal to see what waits."


@click.command()
@click.option("--once", is_flag=True, help="Do exactly one full tick: poll, dispatch, wait for the agents, deliver.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be decided, but write nothing, send nothing and run no agent."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Log lines for people, or one JSON object on each line.",
)
@pass_options
def command(given: Options, *, once: bool, dry_run: bool, log_format: str) -> None:
    """Run the dispatcher of this repository until you interrupt it.

    If this interrupts an agent's run, the next start runs the agent again; this does not count as an attempt.
    """
    import asyncio  # noqa: PLC0415 - the dispatcher's imports are its own to pay

    from prloom.cli import config_check  # noqa: PLC0415
    from prloom.cli.output import log_output  # noqa: PLC0415
    from prloom.workspace import root as roots  # noqa: PLC0415

    if log_format == "json":  # from here on: reading the configuration may warn
        log_output.to_stderr("WARNING", as_json=True)
    found, config = roots.find(Path(given.directory)), context.config(given)
    root = found.path

    def load_again() -> Config:
        return context.config(given)

    if not dry_run:
        roots.claim(found)
        config_check.remember_valid(given)
    level: Literal["DEBUG", "INFO", "WARNING"] = "INFO"
    if given.verbose:
        level = "DEBUG"
    elif once or dry_run:
        level = "WARNING"
    log_output.to_stderr(level, as_json=log_format == "json")
    if dry_run:
        with terminal.progress("deciding"):
            lines = asyncio.run(_dry_run(root, config))
        for line in lines or ("Nothing would be done.",):
            click.echo(terminal.clean(line))
    elif once:
        with terminal.progress("one round") as show, log_output.decisions(show):
            failed = _run(_run_once(root, config, load_again))
        click.echo(_outcome(context.worktrees_dir(given), root))
        if failed:
            raise PrloomError("\n".join(failed))  # the round is done all the same, for the other bridges
    else:
        _run(_run_forever(root, config, load_again, lambda: click.echo(RUNNING)))


def _run(dispatching: Coroutine[object, object, _T]) -> _T:
    """Run the dispatcher; where a signal ends it, say what becomes of its work."""
    import asyncio  # noqa: PLC0415 - `prloom start --help` needs none

    try:
        return asyncio.run(dispatching)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_STOPPED) from None


def _outcome(worktrees: Path, root: Path) -> str:
    """Return in one line what is left after a round."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from prloom.cli.output import waiting_text  # noqa: PLC0415
    from prloom.engine.views import status  # noqa: PLC0415
    from prloom.storage.paths import RepositoryPaths  # noqa: PLC0415

    left = status.read(RepositoryPaths(root, worktrees), datetime.now(UTC))
    failing = [bridge.name for bridge in left.bridges if bridge.error is not None and bridge.loaded is not False]
    polls = ""
    if failing:
        polls = f" Not polled: {', '.join(failing)}; the next round tries again."
    return f"{waiting_text.totals(left)}{polls} `prloom status` shows more."


async def _run_once(root: Path, config: Config, load_again: Callable[[], Config]) -> tuple[str, ...]:
    """Do one full tick; return why bridges could not be loaded, one line for each."""
    import asyncio  # noqa: PLC0415 - `prloom start --help` needs none

    from prloom.engine.assembly.dispatcher import assemble  # noqa: PLC0415 - `prloom start --help` needs none

    with _ended_by(signal.SIGTERM):
        dispatcher = assemble(root, config, load_again=load_again)
        for problem in await asyncio.to_thread(_problems, root, config, dispatcher.bridges):
            log.warning("%s", problem)
        await dispatcher.once()
        return tuple(_with_remedy(failed) for failed in dispatcher.bridges.failed)


async def _run_forever(root: Path, config: Config, load_again: Callable[[], Config], begun: Callable[[], None]) -> None:
    """Run until the process is interrupted or asked to end; `begun` is called as soon as a dispatcher is ready."""
    import asyncio  # noqa: PLC0415 - `prloom start --help` needs none

    from prloom.engine.assembly.dispatcher import assemble  # noqa: PLC0415 - `prloom start --help` needs none

    with _ended_by(signal.SIGTERM):
        dispatcher = assemble(root, config, load_again=load_again)
        for name, error in dispatcher.bridges.failed:
            log.warning("bridge %s is not used: %s", name, error)
        for problem in await asyncio.to_thread(_problems, root, config, dispatcher.bridges):
            log.warning("%s", problem)
        begun()
        await dispatcher.run(config.dispatcher.tick_interval)


def _problems(root: Path, config: Config, bridges: LoadedBridges) -> tuple[str, ...]:
    """Return what is missing for the agents and the presets, and the token of a forge that nothing uses yet.

    What keeps a plugin or a bridge from its present work is reported when the first round tries it.
    """
    from prloom.engine import bridge_trial, environment_checks, sandbox_checks  # noqa: PLC0415 - `prloom start --help` needs none
    from prloom.engine.bus import plans  # noqa: PLC0415
    from prloom.engine.views import doctor  # noqa: PLC0415

    where, trials = plans.locate(root, config.worktrees_dir), bridge_trial.of(bridges, os.environ)
    found = (
        *doctor.guarded(lambda: environment_checks.of_agents(config, root), "the agents"),
        *doctor.guarded(lambda: sandbox_checks.of_mode(config, os.environ), "the sandbox"),
        *doctor.guarded(lambda: environment_checks.of_presets(config, where), "the presets"),
        *doctor.guarded(lambda: environment_checks.of_unused_forges(trials, config, where), "the bridges"),
    )
    return tuple(f"{each.where}: {each.what}; {each.fix}" for each in found)


async def _dry_run(root: Path, config: Config) -> tuple[str, ...]:
    """Return the decisions that a tick would make."""
    from prloom.engine import dryrun  # noqa: PLC0415 - `prloom start --help` needs none

    return await dryrun.decisions(root, config)


def _with_remedy(failed: FailedBridge) -> str:
    if "; " in failed.error:
        return failed.error
    return f"{failed.error}; fix it, or set enabled = false in [bridges.{failed.name}]"


@contextlib.contextmanager
def _ended_by(number: signal.Signals) -> Iterator[None]:
    """Let a signal end the dispatcher as Ctrl-C does: it stops its runs, and leaves nothing half done."""
    import asyncio  # noqa: PLC0415 - `prloom start --help` needs none

    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        if task is not None:
            task.cancel()

    loop.add_signal_handler(number, end)
    try:
        yield
    except asyncio.CancelledError:
        if ended:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(number)
