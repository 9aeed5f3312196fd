"""The table of a bridge that comes with prloom: its keys, their defaults and meanings are the bridge's own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import ValidationError

from prloom.config import bridges
from prloom.config.bridges import BridgeSection

SETTINGS = '''
from typing import Literal

from pydantic import BaseModel, Field

from prloom.api import Duration


class Config(BaseModel):
    """Merge requests on GitLab."""

    poll_interval: Duration = Field(default="5m", validate_default=True, description="How often it is polled.")
    project: str = Field(default="", description="The project.")
    sign: Literal["eyes", "thumbsup"] = Field(default="eyes", description="The sign.")
'''


def bridge(folder: Path, name: str, settings: str = "") -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("raise RuntimeError('the configuration runs no bridge')")
    if settings:
        (folder / name / "settings.py").write_text(dedent(settings))


def sections(folder: Path) -> dict[str, type[BridgeSection]]:
    return dict(bridges.bundled_sections(folder))


def test_a_bundled_bridge_brings_its_own_keys_and_defaults(tmp_path: Path) -> None:
    bridge(tmp_path, "gitlab", SETTINGS)

    section = sections(tmp_path)["gitlab"]

    assert section.__doc__ == "Merge requests on GitLab."
    assert list(section.model_fields) == ["enabled", "poll_interval", "project", "sign"]
    assert section().poll_interval == timedelta(minutes=5)
    assert section(project="a/b").settings == {"project": "a/b", "sign": "eyes"}  # type: ignore[call-arg]


def test_the_tables_of_a_bridge_are_closed_to_keys_that_it_does_not_know(tmp_path: Path) -> None:
    bridge(tmp_path, "gitlab", SETTINGS)

    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        sections(tmp_path)["gitlab"].model_validate({"projct": "a/b"})


def test_a_bundled_bridge_without_settings_has_what_every_bridge_has(tmp_path: Path) -> None:
    bridge(tmp_path, "gitlab", SETTINGS)
    bridge(tmp_path, "forum")
    (tmp_path / "notes").mkdir()

    found = sections(tmp_path)

    assert list(found) == ["forum", "gitlab"]
    assert found["forum"] is BridgeSection


def test_a_custom_bridge_comes_after_those_of_prloom() -> None:
    config = bridges.BridgesSection.model_validate({"wall": {"module": "wall.py", "height": 3}})

    assert list(config.named()) == [*bridges.BridgesSection.model_fields, "wall"]
    assert config.named()["wall"].settings == {"height": 3}
