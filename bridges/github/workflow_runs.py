"""Read the runs of GitHub Actions, the one list of the whole repository that tells of checks."""

from __future__ import annotations

from prloom.api import HttpError

from .access import TokenAccess
from .check_runs import CheckPoller
from .sansio import checks, json_access
from .sansio.checks import CheckRun
from .sansio.cursor import GithubCursor
from .source import ApiReader


class WorkflowRuns:
    """The runs as of this poll; a pull request of which one changed has its checks looked at."""

    def __init__(self, source: ApiReader, known: GithubCursor, checking: CheckPoller, eyes: TokenAccess) -> None:
        self._source = source
        self._known = known
        self._checking = checking
        self._eyes = eyes

    async def read(self) -> None:
        """Read what changed since the last time."""
        known = self._known
        feed = known.actions
        try:
            answer = await self._source.get(self._source.repository.runs(), feed.etag)
        except HttpError as error:
            self._eyes.close("actions", error)
            return
        if answer.unchanged:
            return
        runs = json_access.items(answer.json(), "workflow_runs")
        known.use("actions", there=bool(runs))
        news, newest = checks.changed(runs, feed.since)
        opened = {seen.head: number for number, seen in known.pull_requests.items() if seen.state == "open"}
        if not self._eyes.see("checks"):
            for run in news:
                if run.head in opened:
                    await self._read_jobs(opened[run.head], run)
        elif feed.since:  # else it is the first time, and everything is looked at anyway
            known.checks_due += [opened[run.head] for run in news if run.head in opened]
        feed.since, feed.etag = newest or "0", answer.etag

    async def _read_jobs(self, number: int, run: CheckRun) -> None:
        """Take a run's jobs for the checks that they are, where the token may see Actions and no checks."""
        items = await self._source.all(self._source.repository.jobs(run.number), "jobs")
        await self._checking.of_run(number, [checks.job(item) for item in items], over=run.over)
