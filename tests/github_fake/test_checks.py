"""Checks, statuses, jobs and their logs."""

from __future__ import annotations

from datetime import timedelta

import pytest


def runs(api, pr, **query: str):
    return api.get(f"/commits/{pr.head.sha}/check-runs", **query).json()["check_runs"]


def test_a_failing_check_names_its_job_and_moves_no_time(api, hub, clock):
    pr = hub.pull()
    clock.advance(minutes=1)
    check = hub.check(pr, "build", "failure", log="boom")
    shown = runs(api, pr)[0]

    assert (shown["name"], shown["conclusion"]) == ("build", "failure")
    assert shown["details_url"].endswith(f"/job/{check.id}")
    assert api.get(f"/pulls/{pr.number}").json()["updated_at"] == "2026-01-01T12:00:00Z"


def test_a_check_under_way_has_no_conclusion_until_it_ends(api, hub):
    pr = hub.pull()
    check = hub.check(pr, "build", None)
    assert (runs(api, pr)[0]["status"], runs(api, pr)[0]["conclusion"]) == ("in_progress", None)
    hub.finish(check, "timed_out")

    assert (runs(api, pr)[0]["status"], runs(api, pr)[0]["conclusion"]) == ("completed", "timed_out")


def test_of_the_runs_of_one_check_the_last_is_shown_unless_all_are_asked_for(api, hub):
    pr = hub.pull()
    hub.check(pr, "build", "failure")
    hub.check(pr, "build", "success")

    assert [run["conclusion"] for run in runs(api, pr)] == ["success"]
    assert len(runs(api, pr, filter="all")) == 2


def test_checks_are_of_a_commit_and_not_of_the_next(api, hub):
    pr = hub.pull()
    hub.check(pr, "build", "failure")
    hub.push(pr)

    assert runs(api, pr) == []


def test_a_check_of_another_app_has_a_summary_and_no_job(api, hub):
    pr = hub.pull()
    check = hub.check(pr, "circle", "failure", app="circleci", log="3 tests failed")
    shown = runs(api, pr)[0]

    assert shown["output"]["summary"] == "3 tests failed"
    assert shown["app"]["slug"] == "circleci"
    assert api.get(f"/actions/jobs/{check.id}").status_code == 404


def test_a_pull_request_of_a_fork_is_not_named_in_its_checks(api, hub):
    own, fork = hub.pull(), hub.pull(by="zoe", fork=True)
    hub.check(own, "build", "failure")
    hub.check(fork, "build", "failure")

    assert [pull["number"] for pull in runs(api, own)[0]["pull_requests"]] == [own.number]
    assert runs(api, fork)[0]["pull_requests"] == []


def test_suites_runs_and_jobs_tell_the_same(api, hub):
    pr = hub.pull()
    check = hub.check(pr, "build", "failure", log="boom")
    hub.check(pr, "lint", "success")
    suite = api.get(f"/commits/{pr.head.sha}/check-suites").json()["check_suites"][0]
    run = api.get("/actions/runs", head_sha=pr.head.sha).json()["workflow_runs"][0]
    jobs = api.get(f"/actions/runs/{run['id']}/jobs").json()["jobs"]

    assert suite["conclusion"] == run["conclusion"] == "failure"
    assert run["check_suite_id"] == suite["id"]
    assert {job["id"] for job in jobs} >= {check.id}
    assert len(api.get(f"/check-suites/{suite['id']}/check-runs").json()["check_runs"]) == 2


@pytest.mark.parametrize(
    ("said", "state"),
    [([], "pending"), (["success"], "success"), (["success", "error"], "failure"), (["success", "pending"], "pending")],
)
def test_a_commit_has_the_worst_state_of_its_contexts(api, hub, said, state):
    pr = hub.pull()
    for number, each in enumerate(said):
        hub.status(pr, f"ci/{number}", each)

    assert api.get(f"/commits/{pr.head.sha}/status").json()["state"] == state


def test_the_last_word_of_a_context_counts_and_all_are_remembered(api, hub):
    pr = hub.pull()
    hub.status(pr, "ci", "failure", "3 tests failed")
    hub.status(pr, "ci", "success")
    combined = api.get(f"/commits/{pr.head.sha}/status").json()

    assert [(status["context"], status["state"]) for status in combined["statuses"]] == [("ci", "success")]
    listed = api.get(f"/commits/{pr.head.sha}/statuses").json()
    assert [status["state"] for status in listed] == ["success", "failure"]


def test_a_log_is_kept_on_another_host_that_is_not_to_see_the_token(api, hub):
    check = hub.check(hub.pull(), "build", "failure", log="one\ntwo")
    pointer = api.get(f"/actions/jobs/{check.id}/logs")
    log = api.wire.get(pointer.headers["location"], headers={"authorization": ""})

    assert pointer.status_code == 302
    assert pointer.content == b""
    assert not pointer.headers["location"].startswith(hub.api_url)
    assert log.status_code == 400  # even an empty header is one too many


def test_a_client_that_follows_without_the_token_gets_the_log(api, hub):
    check = hub.check(hub.pull(), "build", "failure", log="one\ntwo")
    location = api.get(f"/actions/jobs/{check.id}/logs").headers["location"]
    del api.wire.headers["authorization"]
    log = api.wire.get(location)

    assert log.content.startswith(b"\xef\xbb\xbf2026-01-01T12:00:00.0000000Z one\r\n")
    assert [asked.saw_token for asked in hub.elsewhere] == [False]
    assert hub.complaints == []


def test_a_client_that_shows_the_token_elsewhere_is_complained_of(api, hub):
    check = hub.check(hub.pull(), "build", "failure", log="one")
    location = api.get(f"/actions/jobs/{check.id}/logs").headers["location"]

    assert api.wire.get(location).status_code == 400
    assert hub.elsewhere[0].saw_token
    assert "the token was shown to another host" in hub.complaints[0]


def test_the_url_of_a_log_is_good_for_a_minute(api, hub, clock):
    check = hub.check(hub.pull(), "build", "failure", log="one")
    location = api.get(f"/actions/jobs/{check.id}/logs").headers["location"]
    clock.now += timedelta(minutes=1)
    del api.wire.headers["authorization"]

    assert api.wire.get(location).status_code == 403


def test_a_log_that_was_deleted_is_410_and_one_of_a_running_job_404(api, hub):
    pr = hub.pull()
    deleted, running = hub.check(pr, "build", "failure"), hub.check(pr, "lint", None)

    assert api.get(f"/actions/jobs/{deleted.id}/logs").status_code == 410
    assert api.get(f"/actions/jobs/{running.id}/logs").status_code == 404


def test_a_client_can_speak_of_a_commit(api, hub):
    pr = hub.pull()
    said = api.post(f"/statuses/{pr.head.sha}", {"state": "pending", "context": "prloom"})

    assert (said.status_code, said.json()["creator"]["login"]) == (201, "prloom")
