"""Run a dispatcher in this process, and let signals end it in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from prloom.config.models import Config
from prloom.engine import assembly, dryrun
from prloom.extensions.bridges import FailedBridge

log = logging.getLogger(__name__)


async def once(root: Path, config: Config) -> tuple[str, ...]:
    """Do one full tick; return why bridges could not be loaded, one line for each."""
    with _ended_by(signal.SIGTERM):
        dispatcher = assembly.assemble(root, config)
        await dispatcher.once()
        return tuple(_with_remedy(failed) for failed in dispatcher.bridges.failed)


async def for_ever(root: Path, config: Config, begun: Callable[[], None]) -> None:
    """Run until the process is interrupted or asked to end; `begun` is called once the repository is ours."""
    with _ended_by(signal.SIGTERM):
        dispatcher = assembly.assemble(root, config)
        for name, error in dispatcher.bridges.failed:
            log.warning("bridge %s is not used: %s", name, error)
        begun()
        await dispatcher.run(config.dispatcher.tick_interval)


async def dry_run(root: Path, config: Config) -> tuple[str, ...]:
    """Return what a tick would decide."""
    return await dryrun.decisions(root, config)


def _with_remedy(failed: FailedBridge) -> str:
    if "; " in failed.error:
        return failed.error
    return f"{failed.error}; fix it, or set enabled = false in [bridges.{failed.name}]"


@contextlib.contextmanager
def _ended_by(asked: signal.Signals) -> Iterator[None]:
    """Let a signal end us as Ctrl-C does: what is at work is stopped, and nothing is left half done."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        if task is not None:
            task.cancel()

    loop.add_signal_handler(asked, end)
    try:
        yield
    except asyncio.CancelledError:
        if ended:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(asked)
