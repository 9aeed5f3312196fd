"""A run is ended only after its plan was paused: else the dispatcher would begin the same run again."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

from stage import Stage

from prloom.engine.operator import run_stop
from prloom.exchange import connect
from prloom.exchange.message import Draft
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

RUN = "20261123T090000000Z-worker-0123abcd"


def waiting_run(stage: Stage) -> Path:
    """Have a run that waits for a worker; return the exchange."""
    (stage.adopt() / "runs" / RUN).mkdir(parents=True)
    exchange = stage.paths.local / paths.EXCHANGE
    with connect(exchange) as opened:
        opened.publish_all([Draft(id=RUN, topic="agent.worker", body="{}")])
    return exchange


def test_the_run_goes_on_until_the_running_dispatcher_has_paused_the_plan(stage: Stage) -> None:
    exchange = waiting_run(stage)
    looks: list[str] = []

    def pause(_: float) -> None:
        with connect(exchange) as opened:
            looks.append(opened.inspect(RUN).delivery.state)
        if len(looks) == 3:
            dispatcher.close()
            asyncio.run(stage.tick())

    with SafeDir.make(stage.root, *paths.LOCAL) as local, ExitStack() as dispatcher:
        dispatcher.enter_context(DispatcherLock(local))
        stopped = run_stop.stop(stage.paths, RUN, exchange_url="", by="a test", pause=pause)

    assert stopped.pause is not None
    assert looks == ["ready"] * 3
    assert stage.state("pr-7")["paused"]
