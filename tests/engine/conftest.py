from collections.abc import Iterator
from pathlib import Path

import pytest
from operator_scene import OperatorScene
from project import Project
from stage import Stage

from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def git_stage(project: Project) -> Stage:
    """Return a stage on a real git repository."""
    return Stage(project.root)


@pytest.fixture
def scene(tmp_path: Path) -> OperatorScene:
    return OperatorScene(tmp_path)


@pytest.fixture
def registry(stage: Stage) -> Iterator[PlanRegistry]:
    """Return the plans of the stage, opened: one, `pr-7`."""
    stage.adopt()
    opened = PlanRegistry(stage.paths, rules(stage.config), stage.clock)
    opened.update(rules(stage.config))
    yield opened
    opened.close()
