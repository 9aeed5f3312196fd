"""Who somebody is, what they may, and what their token is good for."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("role", "permission"),
    [("admin", "admin"), ("maintain", "write"), ("write", "write"), ("triage", "read"), ("read", "read")],
)
def test_a_permission_has_four_names_and_a_role_six(api, hub, role, permission):
    hub.person("zoe", role)
    shown = api.get("/collaborators/zoe/permission").json()

    assert (shown["permission"], shown["role_name"]) == (permission, role)


def test_in_a_public_repository_everybody_may_read(api, hub):
    hub.person("stranger")

    assert api.get("/collaborators/stranger/permission").json()["permission"] == "read"


def test_the_permission_of_an_account_that_is_not_there_is_404(api, hub):
    hub.person("zoe", "admin")
    hub.forget("zoe")

    assert api.get("/collaborators/zoe/permission").status_code == 404
    assert api.get("/collaborators/nobody/permission").status_code == 404


def test_only_who_may_write_is_told_permissions(signed_in, hub):
    assert signed_in("stranger").get("/collaborators/ann/permission").status_code == 403


def test_the_association_is_a_hint_and_the_permission_the_truth(api, hub):
    hub.person("quiet-member", "write", hint="CONTRIBUTOR")
    hub.person("contributor", "none", hint="CONTRIBUTOR")
    pr = hub.pull()
    for login in ("quiet-member", "contributor"):
        hub.comment(pr, login, "Hello")

    assert {comment["author_association"] for comment in api.get("/issues/comments").json()} == {"CONTRIBUTOR"}
    assert api.get("/collaborators/quiet-member/permission").json()["permission"] == "write"
    assert api.get("/collaborators/contributor/permission").json()["permission"] == "read"


def test_a_wrong_token_is_401_and_costs_nothing(api, hub):
    hub.revoke("ghp_000000000000000000000000000000000001")
    refused = api.get("/pulls")

    assert refused.status_code == 401
    assert refused.json()["message"] == "Bad credentials"
    assert hub.charged == 0


def test_who_says_nothing_of_itself_is_refused(api):
    del api.wire.headers["user-agent"]

    assert api.get("/pulls").status_code == 403


def test_an_account_knows_itself_and_an_app_does_not(signed_in, hub):
    hub.bot("prloom[bot]", "write")

    assert signed_in("prloom").get("/user").json()["login"] == "prloom"
    assert signed_in("prloom[bot]", kind="app").get("/user").status_code == 403


def test_a_private_repository_is_not_there_for_strangers(signed_in, hub):
    hub.world.repository.private = True

    assert signed_in("stranger").get("/pulls").status_code == 404
    assert signed_in("ann").get("/pulls").status_code == 200


def test_a_fine_grained_token_may_what_it_was_made_for(signed_in, hub):
    pr = hub.pull()
    talker = signed_in("prloom", permissions={"pull_requests": "write"})
    refused = talker.send("PUT", f"/pulls/{pr.number}/merge")

    assert talker.post(f"/issues/{pr.number}/comments", {"body": "x"}).status_code == 201
    assert talker.get("/collaborators/ann/permission").status_code == 200
    assert refused.status_code == 403
    assert refused.headers["x-accepted-github-permissions"] == "contents=write"
    assert talker.get(f"/commits/{pr.head.sha}/check-runs").headers["x-accepted-github-permissions"] == "checks=read"


def test_a_token_that_may_only_read_does_not_write(signed_in, hub):
    reader = signed_in("prloom", permissions={"pull_requests": "read"})

    assert reader.get("/pulls").status_code == 200
    assert reader.post(f"/issues/{hub.pull().number}/comments", {"body": "x"}).status_code == 403


def test_tokens_are_not_remembered(api, hub):
    api.get("/pulls")

    assert hub.asked[0].login == "prloom"
    assert "ghp_" not in repr(hub.asked)


def test_who_cannot_be_assigned_is_left_out_without_a_word(api, hub):
    pr = hub.pull()
    assigned = api.post(f"/issues/{pr.number}/assignees", {"assignees": ["ann", "nobody"]})

    assert assigned.status_code == 201
    assert [user["login"] for user in assigned.json()["assignees"]] == ["ann"]


def test_people_are_asked_for_a_review_all_or_none(api, hub):
    hub.person("zoe", "read")
    pr = hub.pull(by="zoe")
    asked = f"/pulls/{pr.number}/requested_reviewers"

    assert api.post(asked, {"reviewers": ["ann", "nobody"]}).status_code == 422
    assert api.post(asked, {"reviewers": ["zoe"]}).status_code == 422
    assert api.post(asked, {"reviewers": ["ann"]}).status_code == 201
    assert [user["login"] for user in api.get(f"/pulls/{pr.number}").json()["requested_reviewers"]] == ["ann"]
    hub.review(pr, "ann", "APPROVED")
    assert api.get(f"/pulls/{pr.number}").json()["requested_reviewers"] == []
