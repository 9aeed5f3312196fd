"""Load a bridge in a process of its own, and tell what became of it: `python -m prloom.engine.bridge_trial`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import msgspec

from prloom.api.http import UsesHttp
from prloom.config import loading
from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom.errors import PrloomError
from prloom.extensions import child
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.extensions.host.interface import START_LIMIT
from prloom.model import record
from prloom.model.record import Record
from prloom.transport import token
from prloom.transport.token import NoTokenError

_ARGV = (sys.executable, "-P", "-m", "prloom.engine.bridge_trial")  # -P: no module is taken from the repository


class BridgeTrial(Record, frozen=True, kw_only=True):
    """What became of a bridge: an `error`, or what it claims; `no_token` says why it has none, if it needs one.

    `is_forge` says that it connects to a forge and can be used now.
    """

    name: str
    source: str = ""
    targets: tuple[str, ...] = ()
    is_forge: bool = False
    no_token: str | None = None
    error: str | None = None


def of(found: LoadedBridges, environ: Mapping[str, str]) -> tuple[BridgeTrial, ...]:
    """Return what became of bridges that were loaded in this process."""
    forges = found.forges()
    loaded = [
        BridgeTrial(
            name=each.name,
            source=each.source,
            targets=each.targets,
            is_forge=each in forges,
            no_token=_no_token(each, environ),
        )
        for each in found.loaded
    ]
    return (*loaded, *(BridgeTrial(name=each.name, error=each.error) for each in found.failed))


def every(
    root: Path, config: Config, overrides: Sequence[str], *, limit: timedelta = START_LIMIT
) -> tuple[BridgeTrial, ...]:
    """Load each bridge of a configuration that is not disabled, side by side, and return what became of them.

    Their processes read the configuration again, with what the command line overrides. What takes longer than the limit
    is ended.
    """
    names = configured_bridges.enabled(config)
    started = [
        subprocess.Popen(
            [*_ARGV, str(root), name, *overrides],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=root,
            start_new_session=True,
        )
        for name in names
    ]
    end = time.monotonic() + limit.total_seconds()
    return tuple(_ended(name, process, end, limit) for name, process in zip(names, started, strict=True))


def _ended(name: str, process: subprocess.Popen[bytes], end: float, limit: timedelta) -> BridgeTrial:
    """Return what a process told of its bridge until the limit ends, or how it ended without a word."""
    try:
        told, _ = process.communicate(timeout=max(end - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return BridgeTrial(name=name, error=f"loading it took longer than {limit.total_seconds():g} s")
    try:
        return record.decode(BridgeTrial, told)
    except msgspec.DecodeError:
        return BridgeTrial(name=name, error=f"loading it ended its process: {child.exit_text(process.returncode)}")


def _no_token(bridge: LoadedBridge, environ: Mapping[str, str]) -> str | None:
    """Return why a bridge has no token; None if it has one, or needs none."""
    needs = None
    if isinstance(bridge.bridge, UsesHttp):
        needs = bridge.bridge.http
    if needs is None or not (needs.token_variables or needs.token_command):
        return None
    try:
        token.find(needs.token_variables, needs.token_command, environ)
    except NoTokenError as error:
        return str(error)
    return None


def main() -> NoReturn:
    """Load the bridge that the arguments name, print what became of it, and end this process with its threads."""
    root, name, *overrides = sys.argv[1:]
    sink = os.dup(1)
    os.dup2(2, 1)  # whatever the bridge prints, it does not mix with that
    path = Path(root)
    try:
        found = configured_bridges.load(path, loading.load(path, os.environ, overrides), only=name)
        (trial,) = of(found, os.environ)
    except PrloomError as error:
        trial = BridgeTrial(name=name, error=str(error))
    with os.fdopen(sink, "wb") as told:
        told.write(msgspec.json.encode(trial))
    os._exit(0)  # not sys.exit: a thread of the bridge must not keep the process


if __name__ == "__main__":
    main()
