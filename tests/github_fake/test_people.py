"""Who somebody is, what they may, and what their token is good for."""

from __future__ import annotations


def test_only_who_may_write_is_told_permissions(signed_in, hub):
    assert signed_in("stranger").get("/collaborators/ann/permission").status_code == 403


def test_who_says_nothing_of_itself_is_refused(api):
    del api.wire.headers["user-agent"]

    assert api.get("/pulls").status_code == 403


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


def test_tokens_are_not_remembered(api, hub):
    api.get("/pulls")

    assert hub.asked[0].login == "prloom"
    assert "ghp_" not in repr(hub.asked)
