"""What docs/writing-a-bridge.md shows works, and what a bridge may rely on is in it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import get_args

import plain_pytest
import pytest

from prloom import api
from prloom.api import Permissions
from prloom.extensions import bridges
from prloom.model.action import Payload
from prloom.model.record import Record

DOCS = Path(__file__).parents[2] / "docs" / "writing-a-bridge.md"
TEXT = DOCS.read_text("utf-8")
BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = dict(BLOCK.findall(TEXT))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a repository that holds every file of the page."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_page_has_a_bridge_its_configuration_and_its_test() -> None:
    assert sorted(FILES) == ["prloom.toml", "tests/test_letterbox.py", "tools/letterbox.py"]


def test_the_example_is_loaded_as_its_configuration_says(repo: Path) -> None:
    tables = tomllib.loads(FILES["prloom.toml"])["bridges"]

    found = bridges.load(tables, repo_root=repo, shipped=repo / "tests")  # where no bridge is

    (letterbox,) = found.loaded
    assert (letterbox.targets, letterbox.poll_interval) == (("letterbox",), timedelta(seconds=5))
    assert isinstance(letterbox.bridge, Permissions)
    assert found.failed == ()


def test_the_example_keeps_the_promises_of_a_bridge(repo: Path) -> None:
    ran = plain_pytest.run(repo, "tests/test_letterbox.py")

    assert re.search(r"^1\d passed", ran.stdout, re.MULTILINE), ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout


@pytest.mark.parametrize("payload", get_args(Payload), ids=lambda payload: payload.__name__)
def test_every_payload_and_its_fields_are_in_the_page(payload: type[Record]) -> None:
    tag = f"`{payload.__struct_config__.tag}`"
    (row,) = (line for line in TEXT.splitlines() if line.startswith("|") and tag in line.split("|")[1])

    for name in payload.__struct_fields__:
        assert f"`{name}`" in row


@pytest.mark.parametrize(
    "value",
    [
        *(api.BridgeContext, api.TrackedPlan, api.Polled, api.Delivered, api.Refused),
        *(api.PullRequest, api.Issue, api.PostedComment),
    ],
)
def test_every_field_that_a_bridge_meets_is_in_the_page(value: type) -> None:
    assert value.__name__ in TEXT
    for each in fields(value):
        assert re.search(rf"[`(, ]{each.name}[`),=]", TEXT), each.name


@pytest.mark.parametrize("protocol", [api.Bridge, api.Forge, api.Permissions, api.Files])
def test_every_method_that_a_bridge_has_or_uses_is_in_the_page(protocol: type) -> None:
    for name in (name for name in vars(protocol) if not name.startswith("_")):
        assert f"{name}(" in TEXT
