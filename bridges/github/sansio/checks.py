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
_LINES = 150
_CHARACTERS = 12_000
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[0-9:.]{1,20}Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_ERROR = "##[error]"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a commit. `job` is the number of its job, which has a log, in GitHub Actions."""

    key: str
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
    number, done = answers.number(item, "id"), answers.text(item, "completed_at")
    over = answers.text(item, "status") == "completed"
    by_actions = answers.text(item, "app", "slug") == "github-actions"
    output = (answers.text(item, "output", key) for key in ("title", "summary"))
    conclusion = ""
    if over:
        conclusion = answers.text(item, "conclusion") or "neutral"
    return CheckResult(
        key=f"check-{number}@{done}",
        name=answers.text(item, "name"),
        conclusion=conclusion,
        text="\n\n".join(dict.fromkeys(part for part in output if part.strip())),
        url=answers.text(item, "html_url"),
        when=done or answers.text(item, "started_at"),
        job=number if by_actions else None,
    )


def read_status(item: Json) -> CheckResult:
    """Read a status, as systems without an app report it."""
    conclusion = answers.text(item, "state")
    if conclusion == "pending":
        conclusion = ""
    return CheckResult(
        key=f"status-{answers.number(item, 'id')}",
        name=answers.text(item, "context"),
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
    """Return the event that a check failed.

    The code that a check ran decides what the check says. So the author of the event is the account that can push
    that code, not the one that opened the pull request: anyone with write permission can push to the repository
    itself; to a fork, its owner can.
    """
    context = {"check": result.name, "conclusion": result.conclusion, "commit": state.head, "remoteId": result.key}
    return Event(
        id=f"github:{result.key}",
        source=requests.TARGET,
        type="check_failed",
        severity="error",
        title=f"{result.name} failed ({result.conclusion.replace('_', ' ')})",
        body="\n\n".join(part for part in (result.text.strip(), log) if part),
        reply_to=requests.to_target(ReplyTarget(pr)),
        context=context,
        author=_pusher(state),
        url=result.url or None,
        created_at=result.when or None,
        pr=pr,
    )


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
