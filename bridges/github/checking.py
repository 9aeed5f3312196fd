"""Find out about checks, of which no list of the whole repository tells, at the price of one request a poll.

`updated_at` of a pull request does not move with its checks. So one request of each poll is for them: every other time
for the runs of GitHub Actions, which do have such a list; in between for one of the pull requests, each in its turn,
and for whether it can be merged. A pull request whose checks are at work is looked at in each poll until they have been
quiet for a while.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

from prloom.api import Answer, BridgeContext, Event, HttpError, iso

from .knowledge import checks, fields
from .knowledge.checks import Result, Run
from .knowledge.cursor import Checks, Cursor, Feed, Seen
from .source import Source

HOT = timedelta(minutes=30)
"""How long after a push, or after the last change of its checks, a pull request is looked at in each poll."""
_BLIND = timedelta(hours=6)
"""How long what the token may not see is not asked for again."""
_HOT_LOOKS = 10
_LOGS = 5
"""Logs that are read in one look."""
_TOLD = 500

Take = Callable[[Iterable[Event]], None]


def begin(now: datetime) -> Checks:
    """Return what is known of the checks of a new head: nothing, and that they will begin soon."""
    return Checks(hot_until=iso(now + HOT))


class Checking:
    """The looks of one poll."""

    def __init__(
        self, ctx: BridgeContext, source: Source, known: Cursor, take: Take, merge: Callable[[int], Awaitable[None]]
    ) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._take = take
        self._merge = merge
        self._now = iso(ctx.now)

    async def elsewhere(self, _: int) -> None:
        """Make the one request of this poll for what nothing else tells of."""
        known = self._known
        known.turn += 1
        turn = known.turn
        if self._sees("actions"):
            if turn % 2:
                await self._read_actions()
                return
            turn //= 2
        opened = sorted(number for number, seen in known.pull_requests.items() if seen.state == "open")
        kinds = [kind for kind in ("checks", "status", "merge") if self._sees(kind)]
        if opened:
            place = turn % (len(opened) * len(kinds))
            number, kind = opened[place // len(kinds)], kinds[place % len(kinds)]
            hot = number in known.checks_due or known.pull_requests[number].checks.hot_until > self._now
            await (self._merge(number) if kind == "merge" or hot else self._look_at(number, kind))

    def due(self) -> list[int]:
        """Return the pull requests to look at in this poll besides: those that something points to, and the hot."""
        known = self._known
        hot = [
            number
            for number, seen in known.pull_requests.items()
            if seen.state == "open" and seen.checks.hot_until > self._now
        ]
        hot.sort(key=lambda number: known.pull_requests[number].checks.at)
        return list(dict.fromkeys([*known.checks_due, *hot[:_HOT_LOOKS]]))

    async def look(self, number: int) -> None:
        """Look at the checks and at the statuses of a pull request's head."""
        for kind in ("checks", "status"):
            if self._sees(kind):
                await self._look_at(number, kind)
        self._known.checks_due = [due for due in self._known.checks_due if due != number]

    # ---- asking

    async def _read_actions(self) -> None:
        feed, repository = self._known.actions, self._source.repository
        try:
            answer = await self._source.get(repository.runs(), feed.etag)
        except HttpError as error:
            self._close_eyes("actions", error)
            return
        if answer.unchanged:
            return
        runs = fields.items(answer.json(), "workflow_runs")
        news, newest = checks.changed(runs, feed.since)
        opened = {seen.head: number for number, seen in self._known.pull_requests.items() if seen.state == "open"}
        if not self._sees("checks"):
            for run in news:
                if run.head in opened:
                    await self._read_jobs(opened[run.head], run)
        elif feed.since:  # else it is the first time, and everything is looked at anyway
            self._known.checks_due += [opened[run.head] for run in news if run.head in opened]
        feed.since, feed.etag = newest or "0", answer.etag

    async def _read_jobs(self, number: int, run: Run) -> None:
        """Take a run's jobs for the checks that they are, where the token may see Actions and no checks."""
        seen = self._known.pull_requests[number]
        items = await self._source.all(self._source.repository.jobs(run.number), "jobs")
        await self._tell(number, [checks.job(item) for item in items])
        seen.checks.running["checks"] = int(not run.over)
        seen.checks.at = self._now

    async def _look_at(self, number: int, kind: str) -> None:
        seen = self._known.pull_requests[number]
        if seen.state != "open" or not seen.head:
            return
        try:
            answer = await self._source.get(self._address(seen, kind), seen.checks.tags.get(kind))
            if answer.unchanged:
                seen.checks.at = self._now
                return
            found = await self._results(answer, kind)
        except HttpError as error:
            if error.trouble != "gone":  # the commit: it was replaced, and the list of pull requests will tell
                self._close_eyes(kind, error)
            return
        await self._tell(number, found)
        self._note(seen.checks, kind, found, answer)

    async def _tell(self, number: int, found: list[Result]) -> None:
        """Make events of the failures that are none yet."""
        seen = self._known.pull_requests[number]
        fresh = [result for result in found if result.failed and result.key not in seen.checks.told]
        self._take([await self._event(result, number, seen, place) for place, result in enumerate(fresh)])
        seen.checks.told = [*seen.checks.told, *(result.key for result in fresh)][-_TOLD:]

    def _address(self, seen: Seen, kind: str) -> str:
        repository = self._source.repository
        return repository.checks(seen.head) if kind == "checks" else repository.statuses(seen.head)

    async def _results(self, answer: Answer, kind: str) -> list[Result]:
        if kind == "checks":
            return [checks.run(item) for item in await self._source.rest(answer, "check_runs")]
        return checks.latest([checks.status(item) for item in await self._source.rest(answer)])

    def _note(self, known: Checks, kind: str, found: list[Result], answer: Answer) -> None:
        """Remember what was seen, once all of it is told; the tag is that of one page."""
        sign = checks.fingerprint(found)
        moved = known.prints.get(kind, sign) != sign
        known.prints[kind] = sign
        known.tags.pop(kind, None)
        if answer.etag and answer.next_page is None:
            known.tags[kind] = answer.etag
        known.at = self._now
        known.running[kind] = sum(result.running for result in found)
        if moved or known.running[kind]:
            known.hot_until = max(known.hot_until, iso(self._ctx.now + HOT))

    async def _event(self, result: Result, number: int, seen: Seen, place: int) -> Event:
        log = await self._log(result.job) if result.job is not None and place < _LOGS else ""
        return checks.event(result, number, seen, log)

    async def _log(self, job: int) -> str:
        """Return the end of a job's log; the failure is told without it rather than not at all."""
        try:
            answer = await self._source.get(self._source.repository.log(job))
        except HttpError as error:
            if error.trouble in {"limited", "unauthorized"}:
                raise
            return f"(the log cannot be read: {error})"
        return checks.log_end(answer.content)

    # ---- what the token may not see

    def _sees(self, what: str) -> bool:
        return self._known.closed_eyes.get(what, "") <= self._now

    def _close_eyes(self, what: str, error: HttpError) -> None:
        """Leave alone for a while what the token may not see, or what is not there; any other trouble is passed on."""
        if error.trouble not in {"forbidden", "gone"}:
            raise error
        self._known.closed_eyes[what] = iso(self._ctx.now + _BLIND)
        if what == "checks":  # those of Actions can be read by its runs, from the latest on
            self._known.actions = Feed()
        self._ctx.log.warning("%s cannot be seen with this token, and are left alone: %s", what, error)
