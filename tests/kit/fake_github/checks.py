"""Check runs and check suites: what apps, GitHub Actions among them, say of a commit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from . import commits, shapes
from .call import Call
from .exchange import Json, Listing, stamp
from .things import CheckRun
from .world import World

BAD = ("failure", "timed_out", "cancelled", "action_required")


def record(
    world: World, *, sha: str, branch: str, name: str, conclusion: str | None, app: str, now: datetime
) -> CheckRun:
    """Record what a check said of a commit; without a conclusion it is still under way. Nobody's `updated_at` moves."""
    siblings = [check for check in world.checks.values() if check.sha == sha and check.app == app]
    actions = app == "github-actions"
    check = CheckRun(
        id=world.next_id(),
        suite=siblings[0].suite if siblings else world.next_id(),
        run=(siblings[0].run if siblings else world.next_id()) if actions else None,
        sha=sha,
        branch=branch,
        name=name,
        app=app,
        status="completed" if conclusion else "in_progress",
        conclusion=conclusion,
        started_at=now,
        completed_at=now if conclusion else None,
    )
    world.checks[check.id] = check
    return check


def latest(checks: Iterable[CheckRun]) -> list[CheckRun]:
    """Return of each app's checks of one name the last."""
    return list({(check.app, check.name): check for check in checks}.values())


def combined(checks: Iterable[CheckRun]) -> tuple[str, str | None]:
    """Return status and conclusion of a suite."""
    found = latest(checks)
    if any(check.conclusion is None for check in found):
        return "in_progress", None
    bad = [check.conclusion for check in found if check.conclusion in BAD]
    return "completed", bad[0] if bad else "success"


def render(world: World, check: CheckRun) -> Json:
    repo, web = shapes.repository_url(world), shapes.web_url(world)
    url = f"{repo}/check-runs/{check.id}"
    job = f"{web}/actions/runs/{check.run}/job/{check.id}" if check.run else None
    pulls = [pull for pull in world.pulls() if pull.head.sha == check.sha and pull.head.repository is world.repository]
    return {
        "id": check.id,
        "node_id": f"CR_{check.id}",
        "external_id": "",
        "head_sha": check.sha,
        "url": url,
        "html_url": job or f"{web}/runs/{check.id}",
        "details_url": job or f"https://{check.app}.example/{check.id}",
        "name": check.name,
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": stamp(check.started_at),
        "completed_at": stamp(check.completed_at),
        "output": {
            "title": check.title,
            "summary": check.summary,
            "text": None,
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": check.suite},
        "app": shapes.integration(world, check.app),
        "pull_requests": [shapes.minimal_pull(world, pull) for pull in pulls],
    }


def list_of_commit(call: Call) -> Listing:
    """List the latest check of each name, the newest first."""
    sha = commits.known(call.world, call.params["ref"])
    shown = latest(check for check in call.world.checks.values() if check.sha == sha)[::-1]
    return Listing(shown, lambda check: render(call.world, check), wrap="check_runs")
