"""Which repository the address of a git remote names."""

from __future__ import annotations

import pytest

from bridges.github.sansio import remote

GITHUB = "https://api.github.com"
OWN = "https://ghe.example/api/v3"
BELOW = "https://ghe.example:8443/base/api/v3/"


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("https://github.com/ada/engine.git", GITHUB),
        ("https://github.com/ada/engine", GITHUB),
        ("https://github.com/ada/engine/", GITHUB),
        ("https://token@github.com/ada/engine.git", GITHUB),
        ("git@github.com:ada/engine.git", GITHUB),
        ("github.com:ada/engine", GITHUB),
        ("GitHub.com:ada/engine", GITHUB),
        ("ssh://git@github.com/ada/engine.git", GITHUB),
        ("ssh://git@ssh.github.com:443/ada/engine.git", GITHUB),
        ("git://github.com/ada/engine.git", GITHUB),
        ("  https://github.com/ada/engine.git\n", GITHUB),
        ("https://github.com/ada/engine.git", GITHUB + "/"),
        ("git@ghe.example:ada/engine.git", OWN),
        ("https://ghe.example/ada/engine", OWN),
        ("https://ghe.example:8443/base/ada/engine", BELOW),
        ("https://sub.ghe.com/ada/engine", "https://api.sub.ghe.com"),
    ],
)
def test_the_repository_is_found_in_every_form_of_address(url: str, api: str) -> None:
    assert remote.owner_and_name(url, api) == "ada/engine"


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("https://gitlab.com/ada/engine.git", GITHUB),
        ("https://github.com.evil.example/ada/engine", GITHUB),
        ("https://evil.example/github.com/ada/engine", GITHUB),
        ("https://github.com@evil.example/ada/engine", GITHUB),
        ("git@github.com:ada/engine.git", OWN),
        ("https://github.com/ada", GITHUB),
        ("https://github.com/ada/engine/tree/main", GITHUB),
        ("https://github.com/ada/..", GITHUB),
        ("https://github.com/ada/en%2Fgine", GITHUB),
        ("file:///srv/git/ada/engine.git", GITHUB),
        ("/srv/git/ada/engine.git", GITHUB),
        ("../engine.git", GITHUB),
        ("https://[broken/ada/engine", GITHUB),
        ("", GITHUB),
    ],
)
def test_what_is_not_of_the_forge_is_none(url: str, api: str) -> None:
    assert remote.owner_and_name(url, api) is None
