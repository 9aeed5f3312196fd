"""Follow one run: what its program prints becomes activity while it goes on, between one start and one end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from prloom import errors
from prloom.agents import run_folder, run_status
from prloom.agents.agent import RunResult
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.core.activity import activity_ends
from prloom.core.activity.activity_ends import RunEnding
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.output_reader import OutputReader, RunFile
from prloom.engine.activity.stream import ActivityStream, Placed, StreamPosition
from prloom.engine.runs import records
from prloom.model.run import RunUsage
from prloom.storage import paths

log = logging.getLogger(__name__)

PAUSE: Final = 0.2
"""Seconds between two looks at an output of which there was no more."""

_BROKEN_OFF: Final = RunResult(status="interrupted")
_LONGEST_PROMPT: Final = 1 << 20


class FollowedRun:
    """The activity of a run. Where the run's end is already written, as after a crash, nothing more is.

    For the thread of the event loop; the output is read in others, one bounded piece at a time.
    """

    def __init__(self, log: ActivityLog, folder: Path, agent: str, stream: ActivityStream) -> None:
        self._log = log
        self._folder = folder
        self._agent = agent
        self._stream = stream
        stream.begin = self._start
        self._reader = self._new_reader(RunFile(folder))
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, log: ActivityLog, folder: Path, agent: str, plan_id: str) -> FollowedRun:
        """Return the run of a folder; what was written of it before is found out."""
        root, parts = paths.of_run(folder)
        stage = _spec(folder).stage or records.stage(folder.name)
        place = StreamPosition(root, parts, plan_id or None, folder.name, stage)
        return cls(log, folder, agent, await log.open_run(place))

    def begin(self) -> None:
        """Follow the run in a task of its own, until its end is given.

        Call it before the program is started: it may be before anybody sees that it was, that prloom is killed.
        """
        if not self._stream.parts.ended:
            self._log.note_begun(self._folder.name, self._stream.place.plan_id)
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def end(self, result: RunResult, *, machine: str | None = None) -> None:
        """Take in what was printed until the end, and write the end down.

        On another `machine` that has done the run, the program has been started. A run whose program was never started
        has no start and no end.
        """
        self._over.set()
        if self._task is not None:
            await self._task
        try:
            if machine is not None or self._was_started(result):
                self._start()
                while await self._take_in():
                    pass
                self._add(await asyncio.to_thread(self._reader.unfinished))
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, f"the activity of run {self._folder.name} is incomplete")
        finally:
            self._close(_ending(result))

    def break_off(self) -> None:
        """Write down that prloom has ended the run; what it prints from now on is not taken in."""
        self._over.set()
        if self._was_started(_BROKEN_OFF) or run_status.was_begun(self._folder):  # its worker is about to start it
            self._start()
        self._close(_ending(_BROKEN_OFF))

    # ---- inside

    async def _follow(self) -> None:
        try:
            await self._follow_until_over()
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, f"what run {self._folder.name} does is shown when it is over")

    async def _follow_until_over(self) -> None:
        while not self._over.is_set() and not self._stream.parts.ended:
            if self._is_started():
                self._start()
                if await self._take_in():
                    continue
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._over.wait()

    async def _take_in(self) -> bool:
        """Take in the next piece of the output; return whether there was one."""
        if self._stream.parts.ended or not self._reader.has_more():  # to look costs less than a thread
            return False
        placed = await asyncio.to_thread(self._reader.next_piece)
        self._add(placed or [])
        return placed is not None

    def _add(self, placed: list[Placed]) -> None:
        if placed and not self._stream.parts.ended:
            self._stream.add_all(placed)

    def _new_reader(self, output: RunFile) -> OutputReader:
        return OutputReader(output, self._agent, self._log.mask, self._stream.position)

    def _is_started(self) -> bool:
        """Whether the program has been started: that is written down before anything that it prints."""
        if self._stream.parts.start is not None:
            return True
        marks = (run_folder.SUPERVISOR, run_folder.ELSEWHERE)
        return any(run_folder.read(self._folder, name, 0) is not None for name in marks)

    def _was_started(self, result: RunResult) -> bool:
        """Whether the program of a run that is over had been started."""
        if self._is_started():
            return True
        return result.trouble != "start" and run_folder.read(self._folder, run_folder.OUTPUT, 0) is not None

    def _start(self) -> None:
        if self._stream.parts.start is not None:
            return
        prompt = (run_folder.read(self._folder, run_folder.PROMPT, _LONGEST_PROMPT) or b"").decode("utf-8", "replace")
        stage, model = self._stream.place.stage or "", _spec(self._folder).model
        start = activity_ends.started(self._folder.name, stage, self._agent, model, prompt)
        self._stream.add(start, at=run_status.program_started_at(self._folder))

    def _close(self, ending: RunEnding) -> None:
        """Close what is open, once, and forget the run."""
        parts = self._stream.parts
        if parts.start is not None and not parts.ended:
            for draft in parts.closing():
                self._stream.add(draft)
            self._stream.add(activity_ends.ended(self._folder.name, self._agent, ending))
        self._log.close_run(self._folder.name)


def _spec(folder: Path) -> RunSpec:
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    return spec or RunSpec(argv=(), cwd="", environment=(), limits=RunLimits())


def _ending(result: RunResult) -> RunEnding:
    usage = None
    if result.usage is not None:
        used = result.usage
        usage = RunUsage(
            input_tokens=used.input_tokens, output_tokens=used.output_tokens, cached_tokens=used.cached_tokens
        )
    return RunEnding(result.status, result.trouble, result.message, result.error, usage, result.cost_usd)
