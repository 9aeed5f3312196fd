"""What goes wrong between client and GitHub: as often as a test wants it, and written down."""

from __future__ import annotations

import httpx
import pytest
from fake_github import BAD_GATEWAY, TIMEOUT

NOTES = "/issues/1/comments"


@pytest.fixture
def pr(hub):
    return hub.pull()


def test_a_burst_of_502_has_no_effect_and_ends(api, hub, pr):
    hub.before_next(BAD_GATEWAY, times=3)
    answers = [api.post(NOTES, {"body": "x"}).status_code for _ in range(4)]

    assert answers == [502, 502, 502, 201]
    assert len(hub.posts("prloom")) == 1


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
