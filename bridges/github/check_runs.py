"""Look at the checks and the statuses of single pull requests, and tell which of them failed.

`updated_at` of a pull request does not move with its checks. So one whose checks are at work is looked at in each poll
until they have been quiet for a while; after that it has its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api import Answer, BridgeContext, Event, HttpError, iso

from .access import TokenAccess
from .changes import Changes
from .sansio import checks, errors, pulls
from .sansio.checks import CheckResult
from .sansio.cursor import Checks, GithubCursor, SeenPullRequest
from .source import ApiReader

_HOT_LOOKS = 10
_LOGS = 5
"""Logs that are read in one look."""
_TOLD = 500


class CheckPoller:
    """The looks of one poll."""

    def __init__(
        self, ctx: BridgeContext, source: ApiReader, known: GithubCursor, news: Changes, eyes: TokenAccess
    ) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._news = news
        self._eyes = eyes
        self._now = iso(ctx.now)

    def due(self) -> Sequence[int]:
        """Return the pull requests to look at in this poll: those that something points to, and the hot."""
        known = self._known
        opened = {number: seen.checks for number, seen in known.pull_requests.items() if seen.state == "open"}
        hot = [number for number, found in opened.items() if checks.hot(found, self._ctx.now)]
        hot.sort(key=lambda number: opened[number].at)
        return list(dict.fromkeys([*known.checks_due, *hot[:_HOT_LOOKS]]))

    async def look(self, number: int) -> None:
        """Look at the head of a pull request: at everything where something points to it, else at what is hot."""
        known = self._known
        hot = checks.hot(known.pull_requests[number].checks, self._ctx.now)
        for kind in checks.KINDS if number in known.checks_due else hot:
            if self._eyes.see(kind):
                await self.look_at(number, kind)
        known.checks_due = [due for due in known.checks_due if due != number]

    async def of_run(self, number: int, found: Sequence[CheckResult], *, over: bool) -> None:
        """Take the jobs of a run for the checks that they are."""
        seen = self._known.pull_requests[number]
        await self._tell(number, found)
        seen.checks.running["checks"] = int(not over)
        seen.checks.at = self._now

    async def look_at(self, number: int, kind: str) -> None:
        """Look at the "checks" or at the "status" of a pull request's head."""
        seen = self._known.pull_requests[number]
        if seen.state != "open" or not seen.head:
            return
        seen.looked[kind] = self._known.turn
        try:
            answer = await self._source.get(self._address(seen, kind), seen.checks.tags.get(kind))
            if answer.unchanged:
                seen.checks.at = self._now
                return
            found = await self._results(answer, kind)
        except HttpError as error:
            if error.trouble != "gone":  # the commit: it was replaced, and the list of pull requests will tell
                self._eyes.close(kind, error)
            return
        await self._tell(number, found)
        self._known.use(kind, there=any(result.job is None for result in found))
        self._note(seen.checks, kind, found, answer)

    async def _tell(self, number: int, found: Sequence[CheckResult]) -> None:
        """Make events of the failures that are none yet."""
        seen = self._known.pull_requests[number]
        fresh = [result for result in found if result.failed and result.key not in seen.checks.told]
        if fresh and seen.owner is None:
            await self._learn_owner(number, seen)
        self._news.take([await self._event(result, number, seen, place) for place, result in enumerate(fresh)])
        seen.checks.told = [*seen.checks.told, *(result.key for result in fresh)][-_TOLD:]

    async def _learn_owner(self, number: int, seen: SeenPullRequest) -> None:
        """Ask whose the head repository is, which an older prloom did not remember."""
        answer = await self._source.get(self._source.repository.pull(number))
        now = pulls.summary(answer.json())
        if now is not None:
            seen.fork, seen.owner = now.fork, now.owner

    def _address(self, seen: SeenPullRequest, kind: str) -> str:
        repository = self._source.repository
        if kind == "checks":
            return repository.checks(seen.head)
        return repository.statuses(seen.head)

    async def _results(self, answer: Answer, kind: str) -> list[CheckResult]:
        if kind == "checks":
            return [checks.run(item) for item in await self._source.rest(answer, "check_runs")]
        return checks.latest([checks.status(item) for item in await self._source.rest(answer)])

    def _note(self, known: Checks, kind: str, found: list[CheckResult], answer: Answer) -> None:
        """Remember what was seen, once all of it is told; the tag is that of one page."""
        sign = checks.fingerprint(found)
        moved = known.prints.get(kind, sign) != sign
        known.prints[kind] = sign
        known.tags.pop(kind, None)
        if answer.etag and answer.next_page is None:
            known.tags[kind] = answer.etag
        known.at = self._now
        known.running[kind] = sum(result.running for result in found)
        if moved or (known.running[kind] and not known.moved):
            known.moved = self._now

    async def _event(self, result: CheckResult, number: int, seen: SeenPullRequest, place: int) -> Event:
        log = ""
        if result.job is not None and place < _LOGS:
            log = await self._log(result.job)
        return checks.event(result, number, seen, log)

    async def _log(self, job: int) -> str:
        """Return the end of a job's log; the failure is told without it rather than not at all."""
        try:
            answer = await self._source.get(self._source.repository.log(job))
        except HttpError as error:
            if error.trouble in {"limited", "unauthorized"}:
                raise
            return f"(the log cannot be read: {errors.explained(error)})"
        return checks.log_end(answer.content)
