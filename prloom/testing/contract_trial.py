"""Try the promises of `PluginContract` on a plugin, in a process of its own: `python -m prloom.testing.contract_trial`.

Some of the promises are tried by running the plugin in the process that tries them. So that process has the
environment that a plugin's has, and is ended when it takes too long.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import field

from prloom.api import Json
from prloom.errors import ExtensionError
from prloom.extensions import inputs, loading
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model import record
from prloom.model.record import Record
from prloom.testing.plugin_contract import PluginContract

LIMIT: Final = timedelta(seconds=45)
"""How long all promises together may take."""

_ARGV = (sys.executable, "-P", "-m", "prloom.testing.contract_trial")


class TrialCall(Record, frozen=True, kw_only=True):
    """The plugin to try, and its settings."""

    found: DiscoveredPlugin
    settings: Mapping[str, Json] = field(default_factory=dict)


class BrokenPromise(Record, frozen=True, kw_only=True):
    """A promise that the plugin does not keep: its name, what it means, and what went wrong."""

    name: str
    promise: str
    problem: str


class _Answer(Record, frozen=True, kw_only=True):
    broken: tuple[BrokenPromise, ...] = ()


def broken(
    found: DiscoveredPlugin, settings: Mapping[str, Json], environ: Mapping[str, str], limit: timedelta = LIMIT
) -> tuple[BrokenPromise, ...]:
    """Return the promises that a plugin does not keep; a trial that does not come to an end is one more."""
    allowed = inputs.environment(environ, found.manifest.requires_env if found.manifest else ())
    asked = msgspec.json.encode(TrialCall(found=found, settings=settings))
    with subprocess.Popen(
        _ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=allowed
    ) as process:
        try:
            answer, _ = process.communicate(asked, timeout=limit.total_seconds())
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # the reaper ends all that is below it
            why = "the plugin hangs, or defers events for very short times"
            return (_unfinished(f"the trial was stopped after {limit.total_seconds():g} s: {why}"),)
    try:
        return record.decode(_Answer, answer).broken
    except msgspec.MsgspecError:
        return (_unfinished(f"the process that ran the tests ended with status {process.returncode}"),)


def _unfinished(problem: str) -> BrokenPromise:
    return BrokenPromise(name="PluginContract", promise="All promises can be tested.", problem=problem)


def tried(asked: TrialCall) -> tuple[BrokenPromise, ...]:
    """Try every promise in this process, and return those that are not kept."""

    class Contract(PluginContract):
        settings = asked.settings

        def found(self) -> DiscoveredPlugin:
            return asked.found

    promises = {name: method for name, method in inspect.getmembers(Contract()) if name.startswith("test_")}
    problems = {name: _problem(method) for name, method in promises.items()}
    return tuple(
        BrokenPromise(name=name, promise=inspect.getdoc(promises[name]) or "", problem=problem)
        for name, problem in problems.items()
        if problem is not None
    )


def _problem(promise: Callable[[], None]) -> str | None:
    try:
        promise()
    except (AssertionError, ExtensionError) as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001 - the plugin's code may raise anything
        return loading.describe_error(error)
    return None


def main() -> None:
    """Read what is asked on standard input, and write the answer to standard output, which the plugin does not get."""
    from prloom.extensions import reaper  # noqa: PLC0415 - only this process is split

    reaper.split()
    asked = record.decode(TrialCall, sys.stdin.buffer.read())
    answer = os.dup(1)
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        os.write(answer, msgspec.json.encode(_Answer(broken=tried(asked))))
    os._exit(0)  # a thread of the plugin's must not keep the process


if __name__ == "__main__":
    main()
