"""Who ends a call of a bridge: a person who interrupts prloom, or the bridge's own code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prloom.errors import ExtensionError
from prloom.extensions import bridge_calls, bridges
from prloom.extensions.bridges import LoadedBridges


def test_an_interrupt_by_a_person_is_passed_on_also_while_a_bridge_is_at_work() -> None:
    async def never_waits() -> None:
        signal.raise_signal(signal.SIGINT)  # the first one cancels what is at work as soon as that waits
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(bridge_calls.wait(never_waits))


def test_an_interrupt_that_the_bridges_code_raises_is_an_error_of_the_bridge() -> None:
    async def interrupts() -> None:
        raise KeyboardInterrupt

    with pytest.raises(ExtensionError, match=r"^KeyboardInterrupt$"):
        asyncio.run(bridge_calls.wait(interrupts))


def test_so_is_one_in_another_thread_which_no_person_interrupts() -> None:
    async def interrupts() -> None:
        raise KeyboardInterrupt

    with ThreadPoolExecutor() as threads:
        failure = threads.submit(asyncio.run, bridge_calls.wait(interrupts)).exception()

    assert isinstance(failure, ExtensionError)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_so_is_what_a_method_raises_that_is_not_async(error: BaseException) -> None:
    def leaves() -> Awaitable[None]:
        raise error

    with pytest.raises(ExtensionError, match=f"^{type(error).__name__}"):
        asyncio.run(bridge_calls.wait(leaves))


def test_so_is_one_that_its_module_raises_while_a_dispatcher_begins(tmp_path: Path) -> None:
    (tmp_path / "ci.py").write_text("raise KeyboardInterrupt")

    async def load() -> LoadedBridges:
        return bridges.load({"ci": {"module": "./ci.py"}}, repo_root=tmp_path, shipped=tmp_path)

    (failed,) = asyncio.run(load()).failed

    assert failed.error == "bridge ci (./ci.py): its module raised KeyboardInterrupt (ci.py, line 1)"
