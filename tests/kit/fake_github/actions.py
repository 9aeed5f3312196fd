"""GitHub Actions: runs, their jobs, and the jobs' logs, which are kept on another host."""

from __future__ import annotations

from datetime import datetime, timedelta

from . import checks, shapes
from .call import Call
from .exchange import Json, Listing, Refusal, Reply, Request, Response, gone, stamp
from .things import CheckRun
from .world import World

WORKFLOW = 77
LOG_LASTS = timedelta(minutes=1)


def job(world: World, check: CheckRun) -> Json:
    repo = shapes.repository_url(world)
    return {
        "id": check.id,
        "run_id": check.run,
        "workflow_name": "CI",
        "head_branch": check.branch,
        "run_url": f"{repo}/actions/runs/{check.run}",
        "run_attempt": 1,
        "node_id": f"CR_{check.id}",
        "head_sha": check.sha,
        "url": f"{repo}/actions/jobs/{check.id}",
        "html_url": f"{shapes.web_url(world)}/actions/runs/{check.run}/job/{check.id}",
        "status": check.status,
        "conclusion": check.conclusion,
        "created_at": stamp(check.started_at),
        "started_at": stamp(check.started_at),
        "completed_at": stamp(check.completed_at),
        "name": check.name,
        "steps": [],
        "check_run_url": f"{repo}/check-runs/{check.id}",
        "labels": ["ubuntu-latest"],
        **dict.fromkeys(("runner_id", "runner_name", "runner_group_id", "runner_group_name")),
    }


def run(world: World, jobs: list[CheckRun]) -> Json:
    first, (status, conclusion) = jobs[0], checks.combined(jobs)
    repo = shapes.repository_url(world)
    url = f"{repo}/actions/runs/{first.run}"
    minimal = shapes.repository(world, world.repository)
    return {
        "id": first.run,
        "name": "CI",
        "node_id": f"WFR_{first.run}",
        "head_branch": first.branch,
        "head_sha": first.sha,
        "path": ".github/workflows/ci.yml",
        "display_title": "CI",
        "run_number": 1,
        "run_attempt": 1,
        "event": "pull_request",
        "status": status,
        "conclusion": conclusion,
        "workflow_id": WORKFLOW,
        "check_suite_id": first.suite,
        "url": url,
        "html_url": f"{shapes.web_url(world)}/actions/runs/{first.run}",
        "pull_requests": [],
        "created_at": stamp(first.started_at),
        "updated_at": stamp(jobs[-1].completed_at or jobs[-1].started_at),
        **{f"{tail}_url": f"{url}/{tail}" for tail in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "check_suite_url": f"{repo}/check-suites/{first.suite}",
        "workflow_url": f"{repo}/actions/workflows/{WORKFLOW}",
        "head_commit": None,
        "repository": minimal,
        "head_repository": minimal,
    }


def runs(world: World) -> dict[int, list[CheckRun]]:
    found: dict[int, list[CheckRun]] = {}
    for check in world.checks.values():
        if check.run is not None:
            found.setdefault(check.run, []).append(check)
    return found


def list_runs(call: Call) -> Listing:
    """List the runs, the newest first."""
    shown = list(runs(call.world).values())[::-1]
    return Listing(shown, lambda jobs: run(call.world, jobs), wrap="workflow_runs")


def list_jobs(call: Call) -> Listing:
    jobs = runs(call.world).get(int(call.params["run_id"]))
    if jobs is None:
        raise gone()
    return Listing(checks.latest(jobs), lambda check: job(call.world, check), wrap="jobs")


def found(call: Call) -> CheckRun:
    check = call.world.checks.get(int(call.params["job_id"]))
    if check is None or check.run is None:
        raise gone()
    return check


def read_log(call: Call) -> Reply:
    """Point to the log, by a URL that is good for a minute and needs no token; a log that was deleted is gone: 410."""
    check, world = found(call), call.world
    call.needs("read")
    if check.log is None:
        raise gone() if check.conclusion is None else Refusal(410, "Gone")
    ticket = f"{world.next_id():x}"
    world.tickets[ticket] = (check.id, call.now + LOG_LASTS)
    return Reply(302, headers={"location": f"{world.urls.storage}/actions-results/{check.id}.txt?sig={ticket}"})


def serve_log(world: World, request: Request, now: datetime) -> Response:
    """Answer as the storage does: it knows the ticket, not the token, and refuses whoever shows one."""
    ticket = request.url.rpartition("sig=")[2]
    if "authorization" in request.headers:
        return Response(
            400, {"content-type": "application/xml"}, b"<Error><Code>InvalidAuthenticationInfo</Code></Error>"
        )
    check_id, until = world.tickets.get(ticket, (0, now))
    if now >= until:
        return Response(403, {"content-type": "application/xml"}, b"<Error><Code>AuthenticationFailed</Code></Error>")
    check = world.checks[check_id]
    moment = (stamp(check.started_at) or "").replace("Z", ".0000000Z")
    text = "".join(f"{moment} {line}\r\n" for line in (check.log or "").splitlines())
    return Response(200, {"content-type": "text/plain"}, b"\xef\xbb\xbf" + text.encode())
