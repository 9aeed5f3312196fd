"""Pull requests: opened, described, pushed to, merged, closed; and what belongs to them."""

from __future__ import annotations

import pytest


def test_whether_a_pull_request_can_be_merged_is_known_late(api, hub, clock):
    pr = hub.pull()
    early = api.get(f"/pulls/{pr.number}").json()
    clock.advance(seconds=10)
    late = api.get(f"/pulls/{pr.number}").json()

    assert (early["mergeable"], early["mergeable_state"]) == (None, "unknown")
    assert (late["mergeable"], late["mergeable_state"]) == (True, "clean")


def test_a_conflict_shows_late_and_moves_no_time(api, hub, clock):
    pr = hub.pull()
    clock.advance(minutes=1)
    before = api.get(f"/pulls/{pr.number}").json()
    hub.conflict(pr)
    clock.advance(minutes=1)
    after = api.get(f"/pulls/{pr.number}").json()

    assert (before["mergeable"], after["mergeable"], after["mergeable_state"]) == (True, False, "dirty")
    assert before["updated_at"] == after["updated_at"]
    assert api.send("PUT", f"/pulls/{pr.number}/merge").status_code == 405


def test_a_merge_makes_the_others_of_its_base_uncertain(api, hub, clock):
    one, two = hub.pull(), hub.pull()
    clock.advance(minutes=1)
    assert api.get(f"/pulls/{two.number}").json()["mergeable"] is True
    hub.merge(one)

    assert api.get(f"/pulls/{two.number}").json()["mergeable"] is None


@pytest.mark.parametrize("why", ["draft", "closed", "method"])
def test_what_cannot_be_merged_is_405(api, hub, clock, why):
    pr = hub.pull(draft=why == "draft")
    clock.advance(minutes=1)
    hub.world.repository.merge_methods = ("squash",) if why == "method" else ("merge",)
    if why == "closed":
        hub.close(pr)

    assert api.send("PUT", f"/pulls/{pr.number}/merge").status_code == 405


def test_who_may_not_write_may_not_merge(signed_in, hub, clock):
    pr = hub.pull()
    clock.advance(minutes=1)

    assert signed_in("zoe").send("PUT", f"/pulls/{pr.number}/merge").status_code == 403


def test_a_pull_request_of_no_branch_or_of_no_commits_is_refused(api, hub):
    hub.branch("same", hub.world.repository.branches["main"])

    for head in ("nowhere", "same"):
        assert api.post("/pulls", {"head": head, "base": "main", "title": "x"}).status_code == 422


def test_a_merged_pull_request_is_not_reopened(api, hub):
    pr = hub.pull()
    hub.merge(pr)

    assert api.send("PATCH", f"/pulls/{pr.number}", {"state": "open"}).status_code == 422
