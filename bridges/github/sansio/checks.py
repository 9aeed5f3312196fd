"""Read check runs and statuses of a commit, and make events of those that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from prloom.api import Author, Event, Json

from . import answers, requests
from .cursor import PullRequestState
from .requests import ReplyTarget

_FAILURES = {"failure", "timed_out", "startup_failure", "action_required", "error"}
_PASSES = {"success", "neutral", "skipped"}
_LINES = 150
_CHARACTERS = 12_000
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[0-9:.]{1,20}Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_ERROR = "##[error]"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a commit. `job` is the number of its job, which has a log, in GitHub Actions.

    `key` names this result, `check` what gave it: another run of the same check of the same commit has the same one.
    Two workflows may have jobs of one name, so it also says of which suite or run the check is.
    """

    key: str
    check: str
    name: str
    conclusion: str
    text: str
    url: str
    when: str
    job: int | None = None

    @property
    def failed(self) -> bool:
        """Whether it is over and has failed."""
        return self.conclusion in _FAILURES

    @property
    def passed(self) -> bool:
        """Whether it is over and has not failed: nor was it cancelled, or has become stale."""
        return self.conclusion in _PASSES

    @property
    def running(self) -> bool:
        """Whether it runs or waits to."""
        return not self.conclusion


@dataclass(frozen=True)
class CheckRun:
    """A run of GitHub Actions, of which each job is a check."""

    number: int
    head: str
    over: bool


def read_run(item: Json) -> CheckResult:
    """Read a check run. One that an app runs again may keep its number, so the time is part of its key."""
    number, done, name = answers.number(item, "id"), answers.text(item, "completed_at"), answers.text(item, "name")
    over = answers.text(item, "status") == "completed"
    by_actions = answers.text(item, "app", "slug") == "github-actions"
    output = (answers.text(item, "output", key) for key in ("title", "summary"))
    conclusion = ""
    if over:
        conclusion = answers.text(item, "conclusion") or "unknown"
    return CheckResult(
        key=f"check-{number}@{done}",
        check=f"{answers.number(item, 'check_suite', 'id') or answers.number(item, 'run_id')}:{name}",
        name=name,
        conclusion=conclusion,
        text="\n\n".join(dict.fromkeys(part for part in output if part.strip())),
        url=answers.text(item, "html_url"),
        when=done or answers.text(item, "started_at"),
        job=number if by_actions else None,
    )


def read_status(item: Json) -> CheckResult:
    """Read a status, as systems without an app report it."""
    conclusion, name = answers.text(item, "state"), answers.text(item, "context")
    if conclusion == "pending":
        conclusion = ""
    return CheckResult(
        key=f"status-{answers.number(item, 'id')}",
        check=f"status:{name}",
        name=name,
        conclusion=conclusion,
        text=answers.text(item, "description"),
        url=answers.text(item, "target_url"),
        when=answers.text(item, "updated_at"),
    )


def latest(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the first result of each name, which is the latest."""
    return list({result.name: result for result in reversed(results)}.values())


def fingerprint(results: Sequence[CheckResult]) -> str:
    """Return what differs when any of the results does."""
    lines = sorted(f"{result.key} {result.conclusion}" for result in results)
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def failed_event(result: CheckResult, pr: int, state: PullRequestState, log: str) -> Event:
    """Return the event that a check failed; it takes the place of that of an earlier run of it.

    The code that a check ran decides what the check says. So the author of the event is the account that can push
    that code, not the one that opened the pull request: anyone with write permission can push to the repository
    itself; to a fork, its owner can.
    """
    return Event(
        id=event_id(result),
        source=requests.TARGET,
        type="check_failed",
        severity="error",
        title=f"{result.name} failed ({result.conclusion.replace('_', ' ')})",
        body="\n\n".join(part for part in (result.text.strip(), log) if part),
        reply_to=requests.to_target(ReplyTarget(pr)),
        context={**_context(result, state), "conclusion": result.conclusion, "remoteId": result.key},
        author=_pusher(state),
        url=result.url or None,
        created_at=result.when or None,
        pr=pr,
    )


def event_id(result: CheckResult) -> str:
    """Return the id of the event of a result."""
    return f"github:{result.key}"


def passed_event(result: CheckResult, pr: int, state: PullRequestState) -> Event:
    """Return the notice that a check has passed which had failed on the same commit: that failure is over."""
    return Event(
        id=event_id(result),
        source=requests.TARGET,
        type="check_passed",
        title=f"{result.name} passed",
        reply_to=requests.to_target(ReplyTarget(pr)),
        context=_context(result, state),
        url=result.url or None,
        created_at=result.when or None,
        pr=pr,
    )


def _context(result: CheckResult, state: PullRequestState) -> Mapping[str, Json]:
    context: dict[str, Json] = {"check": result.name, "commit": state.head}
    older = state.checks.failed.get(result.check)
    if older is not None:
        context |= {"supersedes": older, "updatedAt": result.when or None}
    return context


def _pusher(state: PullRequestState) -> Author:
    """Return the owner of the head repository; an unknown one has no permission, so the check is held."""
    login = state.owner or answers.GHOST
    if not state.fork:
        return Author(login, trust="write")
    if state.owner:
        return Author(login)
    return Author(login, trust="none")


def read_job(item: Json) -> CheckResult:
    """Read a job of a run of GitHub Actions; it has the number of the check run that it is."""
    return read_run({**item, "app": {"slug": "github-actions"}})


def changed_runs(runs: Sequence[Json], since: str) -> tuple[list[CheckRun], str]:
    """Return the runs of GitHub Actions that changed at or after `since`, and the time of the last change of all."""
    changed = []
    newest = since
    for each in runs:
        number, updated = answers.number(each, "id"), answers.text(each, "updated_at")
        newest = max(newest, updated)
        if updated >= since and number is not None:
            is_over = answers.text(each, "status") == "completed"
            changed.append(CheckRun(number, answers.text(each, "head_sha"), over=is_over))
    return changed, newest


def report(state: PullRequestState) -> Mapping[str, Json] | None:
    """Return the state of the checks of a pull request's head, by the convention for `context.checks`."""
    checks = state.checks
    if checks.read_at:
        return {"running": sum(checks.running.values()), "commit": state.head, "at": checks.read_at}
    return None


def log_end(content: bytes) -> str:
    """Return the end of a job's log: up to its last error, without the times and colours of each line."""
    text = _COLOUR.sub("", _STAMP.sub("", content.decode("utf-8", "replace").replace("\r\n", "\n")))
    lines = text.removeprefix("\ufeff").splitlines()
    errors = [number for number, line in enumerate(lines) if _ERROR in line]
    if errors:
        lines = lines[: errors[-1] + 1]
    return "\n".join(lines[-_LINES:])[-_CHARACTERS:].strip()
