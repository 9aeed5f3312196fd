"""A site whose repository the test writes, and a browser that is let in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import git_folder
import pytest
from stage import Stage
from web_browser import Browser, Time

from prloom.config import loading
from prloom.web.sessions import Sessions
from prloom.web.site import Site


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    root = tmp_path / "repo"
    git_folder.make(root / ".git")
    return Stage(root)


@pytest.fixture
def site(stage: Stage, time: Time) -> Site:
    return Site(stage.paths, lambda: loading.load(stage.root, {}), {}, time)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def browser(site: Site, time: Time) -> Iterator[Browser]:
    with Browser(site, Sessions(time)).let_in() as made:
        yield made


@pytest.fixture
def stranger(site: Site, time: Time) -> Callable[..., Browser]:
    """Return a browser that nobody has let in."""
    return lambda **more: Browser(site, Sessions(time, **more))
