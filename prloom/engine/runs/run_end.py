"""What a run came to: by the reply on the exchange, or by its folder where there is none."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prloom import processes
from prloom.agents import registry, run_ancestry, run_folder, run_message, run_status, runner
from prloom.agents.agent import RunResult
from prloom.agents.run_message import RunReply
from prloom.agents.run_status import RunInProgress
from prloom.core.text import naming
from prloom.engine.runs import live_output
from prloom.errors import AgentError
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.exchange.message import Draft, Message

log = logging.getLogger(__name__)

_PAUSE: Final = 0.02
_LONGEST_ERROR: Final = 500
_LONGEST_END: Final = 60.0  # seconds that a worker may need to end a run whose message was cancelled


@dataclass(frozen=True)
class RunEnd:
    """What a run came to, and the other machine that has done it, if one has."""

    reply: RunReply
    machine: str | None = None


def lost(folder: Path, problem: str) -> RunResult:
    """Return the result of a run to whose folder something has happened."""
    return RunResult(status="failed", trouble="lost", error=f"the run's folder {folder} {problem}")


async def of_reply(folder: Path, draft: Draft, reply: Message, exchange: AsyncExchange) -> RunEnd:
    """Return what a reply says that a run came to; raises ExchangeError."""
    if reply.topic not in {f"{draft.topic}.completed", f"{draft.topic}.failed"}:
        return await _without_result(folder, draft, reply, exchange)
    try:
        read_reply = read(reply)
    except AgentError as error:
        return of_result(RunResult(status="failed", trouble="lost", error=str(error)))
    machine = reply.metadata.get(run_message.MACHINE)
    if not isinstance(machine, str):
        return RunEnd(read_reply)
    await asyncio.to_thread(_write_down, folder, read_reply)
    return RunEnd(read_reply, naming.printable(machine, live_output.LONGEST_NAME))


def read(reply: Message) -> RunReply:
    """Return what a message of a machine says that a run came to; raises AgentError for what is no reply."""
    if isinstance(reply.omitted, int):
        limit = f"over the limit of {run_message.LONGEST_REPLY}"
        raise AgentError(f"the reply has {reply.omitted} bytes, {limit}; it was not read")
    return run_message.read_reply(reply.body)


async def _without_result(folder: Path, draft: Draft, reply: Message, exchange: AsyncExchange) -> RunEnd:
    """Return what a run came to that has no result: it was cancelled, or its last try has failed.

    What a worker of this machine has begun is told by its folder; what others did, by the message's claims.
    """
    end = None
    if not run_status.was_begun(folder):
        if reply.topic == f"{draft.topic}.dead":
            end = _dead(reply)
        else:
            end = _stopped_elsewhere(await exchange.inspect(draft.id))
    if end is None:
        return of_result(await asyncio.to_thread(_ended, folder, draft))
    await asyncio.to_thread(_write_down, folder, end.reply)
    return end


def _dead(reply: Message) -> RunEnd:
    """Return what a run came to whose tries are used up: machines refused it, or the last one that had it is gone."""
    error = naming.printable(reply.body, _LONGEST_ERROR)
    machine = reply.metadata.get(run_message.MACHINE)
    if not isinstance(machine, str):
        return of_result(RunResult(status="failed", trouble="lost", error=error))
    result = RunResult(status="failed", trouble="refused", error=error)
    return RunEnd(RunReply(result=result), naming.printable(machine, live_output.LONGEST_NAME))


def _stopped_elsewhere(entry: MessageEntry) -> RunEnd | None:
    """Return what a cancelled run came to that another machine had begun; None where none had it at that time."""
    last = next(iter(entry.claims[-1:]), None)
    if last is None or last.completed_at is None or last.completed_at != entry.delivery.ended_at:
        return None
    machine = run_message.machine_of(last.worker_instance_id)
    if machine is None:
        return None
    machine = naming.printable(machine, live_output.LONGEST_NAME)
    seconds = (last.completed_at - last.claimed_at).total_seconds()
    error = f"prloom ended the run on {machine} after {seconds:.0f} s"
    return RunEnd(RunReply(result=RunResult(status="interrupted", trouble="stopped", error=error)), machine)


def _write_down(folder: Path, reply: RunReply) -> None:
    """Write what a run on another machine came to, and what its agent printed, into its folder here."""
    with suppress(OSError):  # it is for people, and for the activity
        run_folder.write_result(folder, reply.result)
        if reply.output is not None:
            try:
                live_output.complete(folder, run_message.unpacked_output(reply.output))
            except AgentError as error:
                log.warning("run %s: %s", folder.name, error)


def of_result(result: RunResult) -> RunEnd:
    """Return what a run on this machine came to."""
    return RunEnd(RunReply(result=result))


def _ended(folder: Path, draft: Draft) -> RunResult:
    """Return what a run came to that was cancelled, when its agent has ended, too."""
    given_up = time.monotonic() + _LONGEST_END
    while isinstance(run_status.inspect(folder), RunInProgress) and time.monotonic() < given_up:
        time.sleep(_PAUSE)
    return concluded(folder, draft, lost=False)


def concluded(folder: Path, draft: Draft, *, lost: bool) -> RunResult:
    """Return what a run came to, by its folder, after the end of all that it has left running."""
    state = run_status.inspect(folder)
    if not isinstance(state, run_status.RunFinished):
        processes.clean_up(run_ancestry.RUN_VARIABLE, folder.name)
    asked = run_message.read_message(draft.body)
    return runner.conclude(folder, registry.runnable(asked.agent), state, lost=lost)
