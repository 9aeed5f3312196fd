from __future__ import annotations

import tomllib

import pytest

from prloom.config import presets


@pytest.mark.parametrize(
    ("toml", "keys"),
    [
        ("trust.minimum = 'read'\nbackoff.initial = '1s'\nstages.triage = 'codex'\nagents.timeout = '1m'", []),
        ("plugins.disabled = ['memory']\nplugins.hook_timeout = '1s'", []),
        ("plugins.settings.memory.on_error = 'pass'", []),
        (
            "worktrees_dir = 'x'\nbase_branch = 'x'\ndispatcher.tick_interval = 1",
            ["base_branch", "dispatcher", "worktrees_dir"],
        ),
        ("plugins.enabled = ['a']\nplugins.order = ['a']", ["plugins.enabled", "plugins.order"]),
        ("plugins.settings.'a/b'.file = 'x'", ['plugins.settings."a/b".file']),
        ("plugins = 3", []),
    ],
)
def test_the_keys_of_a_preset_that_have_no_effect_are_those_of_the_whole_repository(toml: str, keys: list[str]) -> None:
    assert list(presets.without_effect(tomllib.loads(toml))) == keys
