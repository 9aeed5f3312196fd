"""What goes wrong between client and GitHub: before the effect, after it, and in what arrives."""

from __future__ import annotations

import httpx
import pytest
from fake_github import BAD_GATEWAY, GARBAGE, RESET, TIMEOUT, TRUNCATED, answer, flood, redirect

NOTES = "/issues/1/comments"


@pytest.fixture
def pr(hub):
    return hub.pull()


def test_a_burst_of_502_has_no_effect_and_ends(api, hub, pr):
    hub.before_next(BAD_GATEWAY, times=3)
    answers = [api.post(NOTES, {"body": "x"}).status_code for _ in range(4)]

    assert answers == [502, 502, 502, 201]
    assert len(hub.posts("prloom")) == 1


def test_a_502_may_hide_that_it_was_done(api, hub, pr):
    hub.after_next(BAD_GATEWAY)

    assert api.post(NOTES, {"body": "x"}).status_code == 502
    assert len(hub.posts("prloom")) == 1


@pytest.mark.usefixtures("pr")
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("fault", [RESET, TIMEOUT])
def test_a_connection_may_end_before_or_after_the_effect(api, hub, fault, done):
    (hub.after_next if done else hub.before_next)(fault)

    with pytest.raises(httpx.ReadError if fault is RESET else httpx.ReadTimeout):
        api.post(NOTES, {"body": "x"})
    assert len(hub.posts("prloom")) == int(done)
    assert hub.asked[-1].faulty


def receive(api, came: bytearray):
    with api.wire.stream("GET", api.full("/pulls")) as response:
        for chunk in response.iter_raw():
            came += chunk


def test_half_an_answer_may_come(api, hub, pr):
    whole, came = api.get("/pulls").content, bytearray()
    hub.after_next(TRUNCATED)

    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        receive(api, came)
    assert bytes(came) == whole[: len(whole) // 2]


def test_what_comes_may_not_be_json(api, hub, pr):
    hub.before_next(GARBAGE)
    answered = api.get("/pulls")

    assert answered.status_code == 200
    with pytest.raises(UnicodeDecodeError):
        answered.json()


def test_an_answer_may_be_far_too_long_and_can_be_left(api, hub, pr):
    hub.before_next(flood(10**12))

    with api.wire.stream("GET", api.full("/pulls")) as response:
        first = next(response.iter_bytes())

    assert len(first) < 10**6


def test_an_answer_may_lead_to_another_host(api, hub, pr):
    hub.before_next(redirect("https://evil.example/steal"))
    moved = api.get("/pulls")

    assert (moved.status_code, moved.headers["location"]) == (302, "https://evil.example/steal")
    assert api.wire.get(moved.headers["location"]).status_code == 404
    assert "the token was shown to another host" in hub.complaints[0]


@pytest.mark.parametrize("status", [404, 410, 500, 503])
def test_any_answer_can_be_had(api, hub, pr, status):
    hub.before_next(answer(status, "Because", retry_after="7"))
    answered = api.get("/pulls")

    assert (answered.status_code, answered.json()["message"], answered.headers["retry-after"]) == (
        status,
        "Because",
        "7",
    )


def test_a_fault_meets_the_requests_that_it_is_meant_for(api, hub, pr):
    hub.before_next(BAD_GATEWAY, on="POST */issues/1/comments", skip=1)

    assert api.get("/pulls").status_code == 200
    assert [api.post(NOTES, {"body": "x"}).status_code for _ in range(3)] == [201, 502, 201]


def test_something_may_happen_between_two_requests(api, hub, pr):
    hub.comment(pr, "ann", "before")
    hub.after_next(lambda: hub.comment(pr, "ann", "in between"), on="GET */issues/comments")
    first, second = api.get("/issues/comments").json(), api.get("/issues/comments").json()

    assert (len(first), len(second)) == (1, 2)


def test_something_may_happen_just_before_a_request_is_carried_out(api, hub, pr):
    hub.before_next(lambda: hub.lock(pr), on="POST *")

    assert api.post(NOTES, {"body": "x"}).status_code == 403


def test_a_client_may_die_before_its_request_is_carried_out(api, hub, pr):
    killed = []

    def kill():
        killed.append("client")
        return RESET

    hub.before_next(kill, on="POST *")
    with pytest.raises(httpx.ReadError):
        api.post(NOTES, {"body": "x"})

    assert killed == ["client"]
    assert hub.posts("prloom") == []


def test_the_storage_of_logs_can_fail_too(api, hub, pr):
    check = hub.check(pr, "build", "failure", log="one")
    location = api.get(f"/actions/jobs/{check.id}/logs").headers["location"]
    hub.before_next(BAD_GATEWAY, on="GET /actions-results/*")
    del api.wire.headers["authorization"]

    assert [api.wire.get(location).status_code for _ in range(2)] == [502, 200]


def test_the_ledger_tells_what_became_of_each_request(api, hub, pr):
    hub.before_next(TIMEOUT)
    with pytest.raises(httpx.ReadTimeout):
        api.get("/pulls")
    api.post(NOTES, {"body": "x"})

    assert [str(asked) for asked in hub.asked] == [
        "GET /repos/ada/engine/pulls -> timeout",
        "POST /repos/ada/engine/issues/1/comments -> 201",
    ]
    assert [asked.charged for asked in hub.asked] == [False, True]
    assert hub.asked[1].body == {"body": "x"}
    assert hub.asked[1].write
