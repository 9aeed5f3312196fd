from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_github import Hub, serve
from github_project import Project
from real_command import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository", tmp_path)
    made.configure()
    made.run("adopt", "--branch", "work")
    return made


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    hub = Hub(lambda: datetime.now(UTC))
    hub.person("ann", "write")
    hub.person("eve", "none")
    hub.person("prloom", "write")
    repository = Repository(tmp_path / "repository", tmp_path)
    async with serve(hub) as at:
        yield Project(repository, hub, at.api_url, tmp_path / "origin.git")
    hub.verify()
    assert hub.complaints == []
