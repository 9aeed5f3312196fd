"""Read check runs and statuses of a commit, and tell which failures are news."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from prloom.api import Author, Event, Json, iso, moment

from . import accounts, json_access, reply_target
from .cursor import Checks, SeenPullRequest
from .reply_target import ReplyTarget

KINDS = ("checks", "status")
HOT = timedelta(minutes=30)
"""How long after a push, or after the last change of its checks, a pull request is looked at in each poll."""
_LONGEST = timedelta(hours=6)
"""How long after its last change what runs is taken to be at work: as long as a job of GitHub Actions may last."""

_BAD = {"failure", "timed_out", "startup_failure", "action_required", "error"}
_LINES = 150
_CHARACTERS = 12_000
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[0-9:.]{1,20}Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_ERROR = "##[error]"


@dataclass(frozen=True)
class CheckResult:
    """What one check says of a commit. `job` is its job's number where GitHub Actions ran it, and so has a log."""

    key: str
    name: str
    conclusion: str
    said: str
    url: str
    when: str
    job: int | None = None

    @property
    def failed(self) -> bool:
        """Whether it is over, and not well."""
        return self.conclusion in _BAD

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


def run(item: Json) -> CheckResult:
    """Read a check run. One that an app runs again may keep its number, so the time belongs to what it is."""
    number, done = json_access.number(item, "id"), json_access.text(item, "completed_at")
    over = json_access.text(item, "status") == "completed"
    by_actions = json_access.text(item, "app", "slug") == "github-actions"
    output = (json_access.text(item, "output", key) for key in ("title", "summary"))
    return CheckResult(
        key=f"check-{number}@{done}",
        name=json_access.text(item, "name"),
        conclusion=(json_access.text(item, "conclusion") or "neutral") if over else "",
        said="\n\n".join(dict.fromkeys(part for part in output if part.strip())),
        url=json_access.text(item, "html_url"),
        when=done or json_access.text(item, "started_at"),
        job=number if by_actions else None,
    )


def status(item: Json) -> CheckResult:
    """Read a status, as systems without an app give it."""
    state = json_access.text(item, "state")
    return CheckResult(
        key=f"status-{json_access.number(item, 'id')}",
        name=json_access.text(item, "context"),
        conclusion="" if state == "pending" else state,
        said=json_access.text(item, "description"),
        url=json_access.text(item, "target_url"),
        when=json_access.text(item, "updated_at"),
    )


def begin(now: datetime) -> Checks:
    """Return what is known of the checks of a new head: nothing, and that they will begin soon."""
    return Checks(moved=iso(now))


def hot(known: Checks, now: datetime) -> Sequence[str]:
    """Return what is looked at in each poll: all of it for a while after the last change, and then what still runs."""
    if known.moved:
        quiet = now - moment(known.moved)
    else:
        quiet = _LONGEST
    return tuple(kind for kind in KINDS if quiet < HOT or (known.running.get(kind) and quiet < _LONGEST))


def latest(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return of each name the first, which is the last that was said."""
    return list({result.name: result for result in reversed(results)}.values())


def fingerprint(results: Sequence[CheckResult]) -> str:
    """Return what differs when any of the results does."""
    said = sorted(f"{result.key} {result.conclusion}" for result in results)
    return sha256("\n".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def event(result: CheckResult, pr: int, seen: SeenPullRequest, log: str) -> Event:
    """Return the event that a check failed.

    What a check says, the code that it ran made it say: it is the word of whoever can push that code, whoever opened
    the pull request. Everybody with write permission can push to the repository itself; to a fork, its owner can.
    """
    author = _pusher(seen)
    context = {"check": result.name, "conclusion": result.conclusion, "commit": seen.head, "remoteId": result.key}
    return Event(
        id=f"github:{result.key}",
        source=reply_target.TARGET,
        type="check_failed",
        severity="error",
        title=f"{result.name} failed ({result.conclusion.replace('_', ' ')})",
        body="\n\n".join(part for part in (result.said.strip(), log) if part),
        reply_to=reply_target.target(ReplyTarget(pr)),
        context=context,
        author=author,
        url=result.url or None,
        created_at=result.when or None,
        pr=pr,
    )


def _pusher(seen: SeenPullRequest) -> Author:
    """Return the owner of the head repository; one that is not known has no permission, so the check is held."""
    login = seen.owner or accounts.GHOST
    if not seen.fork:
        return Author(login, trust="write")
    return Author(login, trust=None if seen.owner else "none")


def job(item: Json) -> CheckResult:
    """Read a job of a run of GitHub Actions; it has the number of the check run that it is."""
    return run({**item, "app": {"slug": "github-actions"}})


def changed(runs: Sequence[Json], since: str) -> tuple[list[CheckRun], str]:
    """Return the runs of GitHub Actions that changed at or after `since`, and the time of the last change of all."""
    times = [(json_access.text(each, "updated_at"), each) for each in runs]
    news = [
        CheckRun(number, json_access.text(each, "head_sha"), over=json_access.text(each, "status") == "completed")
        for when, each in times
        if when >= since and (number := json_access.number(each, "id")) is not None
    ]
    return news, max((when for when, _ in times), default=since)


def report(seen: SeenPullRequest) -> Mapping[str, Json] | None:
    """Return how the checks of a pull request's head stand, by the convention for `context.checks`."""
    checks = seen.checks
    if checks.at:
        return {"running": sum(checks.running.values()), "commit": seen.head, "at": checks.at}
    return None


def log_end(content: bytes) -> str:
    """Return the end of a job's log: up to its last error, without the times and colours of each line."""
    text = _COLOUR.sub("", _STAMP.sub("", content.decode("utf-8", "replace").replace("\r\n", "\n")))
    lines = text.removeprefix("\ufeff").splitlines()
    errors = [number for number, line in enumerate(lines) if _ERROR in line]
    if errors:
        kept = lines[: errors[-1] + 1]
    else:
        kept = lines
    return "\n".join(kept[-_LINES:])[-_CHARACTERS:].strip()
