"""Read the checks and statuses of pull requests, and the runs of GitHub Actions, the one list that shows checks of all.

`updated_at` of a pull request does not move with its checks. So one whose checks are at work is read in each poll until
they have been quiet for a while; after that, it is read when the schedule says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api import Answer, Event, HttpError

from .api_reader import PollContext
from .sansio import answers, checks
from .sansio.checks import CheckResult, CheckRun
from .sansio.cursor import CHECK_KINDS, ChecksState, PullRequestState

_ACTIVE_READS = 10
"""Active pull requests that are read in one poll."""
_LOGS = 5
"""Logs that are read for one pull request in one poll."""
_REPORTED = 500
"""Failures of one head that are remembered, so that each is one event."""


def due(poll: PollContext) -> Sequence[int]:
    """Return the pull requests to read in this poll: those that something points to, and the active ones."""
    opened = {number: state.checks for number, state in poll.cursor.open_pull_requests.items()}
    active = [number for number, state in opened.items() if state.active_kinds(poll.ctx.now)]
    active.sort(key=lambda number: opened[number].read_at)
    return list(dict.fromkeys([*poll.cursor.checks_due, *active[:_ACTIVE_READS]]))


async def read_checks(poll: PollContext, number: int) -> None:
    """Read the checks of a pull request's head: all kinds where something points to it, else the active kinds."""
    cursor = poll.cursor
    kinds: Sequence[str] = CHECK_KINDS
    if number not in cursor.checks_due:
        kinds = cursor.pull_requests[number].checks.active_kinds(poll.ctx.now)
    for kind in kinds:
        if poll.access.allows(kind):
            await read_kind(poll, number, kind)
    cursor.checks_due = [each for each in cursor.checks_due if each != number]


async def read_kind(poll: PollContext, number: int, kind: str) -> None:
    """Read the "checks" or the "status" of a pull request's head."""
    state = poll.cursor.pull_requests[number]
    if state.state != "open" or not state.head:
        return
    state.last_read[kind] = poll.cursor.poll_number
    url = poll.reader.repository.statuses(state.head)
    if kind == "checks":
        url = poll.reader.repository.checks(state.head)
    try:
        answer = await poll.reader.get(url, state.checks.etags.get(kind))
        if answer.unchanged:
            state.checks.read_at = poll.now
            return
        results = await _results(poll, answer, kind)
    except HttpError as error:
        if error.trouble != "gone":  # the commit: it was replaced, and the list of pull requests will show that
            poll.access.deny(kind, error)
        return
    await _report_failures(poll, number, results)
    poll.cursor.use(kind, there=any(result.job is None for result in results))
    _store(poll, state.checks, kind, results, answer)


async def _results(poll: PollContext, answer: Answer, kind: str) -> list[CheckResult]:
    if kind == "checks":
        return [checks.read_run(item) for item in await poll.reader.items_from(answer, "check_runs")]
    return checks.latest([checks.read_status(item) for item in await poll.reader.items_from(answer)])


async def _report_failures(poll: PollContext, number: int, results: Sequence[CheckResult]) -> None:
    """Add the events of the failures that are no events yet, and of the checks that have passed after they failed."""
    state = poll.cursor.pull_requests[number]
    fresh = [result for result in results if result.failed and result.key not in state.checks.reported]
    if fresh and state.owner is None:
        await _read_owner(poll, number, state)
    events: list[Event] = []
    for count, result in enumerate(fresh):
        log = ""
        if result.job is not None and count < _LOGS:
            log = await _log(poll, result.job)
        events.append(checks.failed_event(result, number, state, log))
    passed = [result for result in results if result.passed and result.check in state.checks.failed]
    poll.changes.add([*events, *(checks.passed_event(result, number, state) for result in passed)])
    gone = {result.check for result in passed}
    failed = {check: event for check, event in state.checks.failed.items() if check not in gone}
    failed |= {result.check: checks.event_id(result) for result in fresh}
    state.checks.failed = dict(list(failed.items())[-_REPORTED:])
    state.checks.reported = [*state.checks.reported, *(result.key for result in fresh)][-_REPORTED:]


async def _read_owner(poll: PollContext, number: int, state: PullRequestState) -> None:
    """Read the owner of the head repository, which an older prloom did not store."""
    _, now = await poll.reader.pull(number)
    state.fork, state.owner = now.fork, now.owner


async def _log(poll: PollContext, job: int) -> str:
    """Return the end of a job's log; where it cannot be read, the event says so instead."""
    try:
        answer = await poll.reader.get(poll.reader.repository.log(job))
    except HttpError as error:
        if error.trouble in {"limited", "unauthorized"}:
            raise
        return f"(the log cannot be read: {answers.describe(error)})"
    return checks.log_end(answer.content)


def _store(poll: PollContext, state: ChecksState, kind: str, results: list[CheckResult], answer: Answer) -> None:
    """Store the state of the checks, once all failures are events; the tag is that of one page."""
    fingerprint = checks.fingerprint(results)
    has_changed = state.fingerprints.get(kind, fingerprint) != fingerprint
    state.fingerprints[kind] = fingerprint
    state.etags.pop(kind, None)
    if answer.etag and answer.next_page is None:
        state.etags[kind] = answer.etag
    state.read_at = poll.now
    state.running[kind] = sum(result.running for result in results)
    has_begun = bool(state.running[kind]) and not state.changed_at
    if has_changed or has_begun:
        state.changed_at = poll.now


# ---- runs of GitHub Actions


async def read_workflow_runs(poll: PollContext) -> None:
    """Read the runs of GitHub Actions that changed; a pull request of which one changed has its checks read."""
    cursor = poll.cursor
    feed = cursor.actions
    try:
        answer = await poll.reader.get(poll.reader.repository.runs(), feed.etag)
    except HttpError as error:
        poll.access.deny("actions", error)
        return
    if answer.unchanged:
        return
    runs = answers.page(answer, "workflow_runs")
    cursor.use("actions", there=bool(runs))
    changed, newest = checks.changed_runs(runs, feed.since)
    opened = {state.head: number for number, state in cursor.open_pull_requests.items()}
    of_opened = [run for run in changed if run.head in opened]
    if not poll.access.allows("checks"):
        for run in of_opened:
            await _read_jobs(poll, opened[run.head], run)
    elif feed.since:  # else it is the first time, and everything is read anyway
        cursor.checks_due += [opened[run.head] for run in of_opened]
    feed.since, feed.etag = newest or "0", answer.etag


async def _read_jobs(poll: PollContext, number: int, run: CheckRun) -> None:
    """Read a run's jobs as the checks that they are, where the token may read Actions but not checks."""
    items = await poll.reader.all(poll.reader.repository.jobs(run.number), "jobs")
    await _report_failures(poll, number, [checks.read_job(item) for item in items])
    state = poll.cursor.pull_requests[number].checks
    state.running["checks"] = int(not run.over)
    state.read_at = poll.now
