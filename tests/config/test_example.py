"""prloom.toml.example holds every key, and nothing that the code does not know."""

import re
import tomllib
from pathlib import Path

import pytest

from prloom.config import example, layers, loading, reference
from prloom.config.bridges import BridgesSection
from prloom.config.layers import has
from prloom.config.models import Config

FILE = Path(__file__).parents[2] / "prloom.toml.example"
# A commented key or table has no space after its #; a comment has one.
UNCOMMENTED = re.sub(r"^#(?=\S)", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
NAMES_OF_ONES_OWN = {"bridges": "my-ci", "plugins": "memory", "models": "strong", "presets": "careful"}


def test_the_file_is_what_the_code_says() -> None:
    assert FILE.read_text(encoding="utf-8") == example.render(), (
        "bring it up to date: python -m prloom.config.example > prloom.toml.example"
    )


def test_as_it_stands_the_file_changes_nothing() -> None:
    assert loading.parse(tomllib.loads(FILE.read_text(encoding="utf-8"))) == loading.parse(
        {"dispatcher": {}, "trust": {}, "backoff": {}, "bridges": {name: {} for name in BridgesSection.model_fields}}
        | {
            "plugins": {},
            "stages": {},
            "agents": {name: {} for name in ("claude", "codex", "opencode", "gemini", "amp", "command")},
            "tools": {},
            "exchange": {},
            "work": {},
            "sandbox": {},
            "limits": {},
            "outbox": {},
        }
    )


@pytest.mark.parametrize("key", reference.all_keys(), ids=lambda key: ".".join(key.path))
def test_every_key_of_the_code_is_in_the_file(key: reference.Key) -> None:
    path: layers.KeyPath = tuple(NAMES_OF_ONES_OWN[key.path[0]] if part == reference.ANY else part for part in key.path)
    if reference.is_list(key.path[:-1]):
        path = (*path[:-1], 0, path[-1])

    assert has(tomllib.loads(UNCOMMENTED), path)


def test_uncommented_whole_the_file_gives_the_defaults() -> None:
    config = loading.parse(tomllib.loads(UNCOMMENTED))

    names = {
        "models": True,
        "presets": True,
        "plugins": {"settings", "permissions"},
        "bridges": {"my-ci"},
        "adopt": True,
    }
    names |= {"work": {"checks"}}  # an example says more than the default, which is none
    assert config.model_dump(exclude=names) == Config().model_dump(exclude=names)


def test_every_key_has_a_meaning() -> None:
    assert [key.path for key in reference.all_keys() if not key.meaning.endswith(".")] == []


def test_every_section_has_a_meaning() -> None:
    assert [path for path, meaning in reference.sections().items() if not meaning.endswith(".")] == []
