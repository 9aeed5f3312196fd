"""The sign by which a comment on GitHub is acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from bridges.github.settings import Config as GithubConfig
from bridges.github.settings import Reaction
from prloom.api import Event, React, Target
from prloom.extensions import bridges

ROOT = Path(__file__).parents[3]


def load(**settings: Any) -> Any:
    github = GithubConfig(**settings).model_dump()
    loaded = bridges.load({"github": github, "local": {"enabled": False}}, repo_root=ROOT)
    assert not loaded.failed, loaded.failed
    return loaded.loaded[0].bridge


@pytest.mark.parametrize(
    ("token", "sign"),
    [
        ({"pr": 7, "comment": 3}, React("eyes")),
        ({"pr": 7, "thread": 1, "inline": 3}, React("eyes")),
        ({"pr": 7, "review": 3}, None),
        ({"pr": 7}, None),
        (None, None),
        ("nonsense", None),
    ],
    ids=["comment", "inline", "review", "pull request", "nothing", "nonsense"],
)
def test_a_comment_is_acknowledged_by_a_reaction_and_a_review_is_not(token: Any, sign: React | None):
    event = Event(id="e", source="github", type="pr_comment", reply_to=Target("github", token))

    assert load().acknowledgement(event) == sign


def test_the_reaction_is_the_configured_one_and_none_where_none_is_wanted():
    event = Event(id="e", source="github", type="pr_comment", reply_to=Target("github", {"pr": 7, "comment": 3}))

    assert load(acknowledge="rocket").acknowledgement(event) == React("rocket")
    assert load(acknowledge="").acknowledgement(event) is None


def test_the_reactions_that_can_be_configured_are_those_that_github_has():
    names = sys.modules[f"{type(load()).__module__}.sansio.requests"].REACTIONS

    assert set(get_args(Reaction)) == set(names)
