from __future__ import annotations

import pytest

from prloom.core import remote


@pytest.mark.parametrize(
    ("url", "api", "found"),
    [
        ("git@github.com:ada/engine.git", "https://api.github.com", "ada/engine"),
        ("https://github.com/ada/engine", "https://api.github.com", "ada/engine"),
        ("https://token@github.com/ada/engine.git", "https://api.github.com", "ada/engine"),
        ("ssh://git@github.com:22/ada/engine.git", "https://api.github.com", "ada/engine"),
        ("https://ghe.example/ada/engine.git", "https://ghe.example/api/v3", "ada/engine"),
        ("https://ghe.example/ada/engine.git", "https://api.github.com", None),
        ("git@gitlab.com:ada/engine.git", "https://api.github.com", None),
        ("https://github.com/ada", "https://api.github.com", None),
        ("https://github.com/ada/engine/more", "https://api.github.com", None),
        ("/srv/git/engine.git", "https://api.github.com", None),
        ("", "https://api.github.com", None),
    ],
)
def test_the_repository_is_read_from_every_form_of_a_remotes_url(url: str, api: str, found: str | None):
    assert remote.owner_and_name(url, api) == found
