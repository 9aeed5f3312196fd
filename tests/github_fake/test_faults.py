"""What goes wrong between client and GitHub goes wrong as often as a test wants it."""

from __future__ import annotations

import pytest
from fake_github import BAD_GATEWAY

NOTES = "/issues/1/comments"


@pytest.fixture
def pr(hub):
    return hub.pull()


def test_a_burst_of_502_has_no_effect_and_ends(api, hub, pr):
    hub.before_next(BAD_GATEWAY, times=3)
    answers = [api.post(NOTES, {"body": "x"}).status_code for _ in range(4)]

    assert answers == [502, 502, 502, 201]
    assert len(hub.posts("prloom")) == 1
