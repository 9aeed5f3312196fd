"""Checks, statuses, jobs and their logs."""

from __future__ import annotations

from datetime import timedelta


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


def test_a_pull_request_of_a_fork_is_not_named_in_its_checks(api, hub):
    own, fork = hub.pull(), hub.pull(by="zoe", fork=True)
    hub.check(own, "build", "failure")
    hub.check(fork, "build", "failure")

    assert [pull["number"] for pull in runs(api, own)[0]["pull_requests"]] == [own.number]
    assert runs(api, fork)[0]["pull_requests"] == []


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
