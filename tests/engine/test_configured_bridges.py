"""The bridges of a repository: what they get of its configuration, and of its remote."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from prloom.api import Forge
from prloom.config import loading
from prloom.engine import configured_bridges

UNKNOWN = 'no repository on GitHub is known; set `repo = "owner/name"` in [bridges.github]'


def why_unavailable(root: Path, **github: str) -> str | None:
    config = loading.parse({"bridges": {"github": github}})
    (forge,) = [each.bridge for each in configured_bridges.load(root, config).loaded if isinstance(each.bridge, Forge)]
    return forge.unavailable()


def test_without_a_remote_github_is_not_known(project: Project) -> None:
    assert why_unavailable(project.root) == UNKNOWN


def test_outside_a_repository_github_is_not_known(tmp_path: Path) -> None:
    assert why_unavailable(tmp_path) == UNKNOWN


@pytest.mark.parametrize(
    ("address", "github", "reason"),
    [
        ("https://github.com/ada/engine.git", {}, None),
        ("https://gitlab.com/ada/engine.git", {}, UNKNOWN),
        ("https://gitlab.com/ada/engine.git", {"repo": "ada/engine"}, None),
        ("https://github.com/ada/engine.git", {"api_url": "https://ghe.example/api/v3"}, UNKNOWN),
        ("https://ghe.example/ada/engine.git", {"api_url": "https://ghe.example/api/v3"}, None),
    ],
)
def test_github_finds_its_repository_by_the_remote_unless_the_settings_name_one(
    project: Project, address: str, github: dict[str, str], reason: str | None
) -> None:
    project.git("remote", "add", "origin", address)

    assert why_unavailable(project.root, **github) == reason
