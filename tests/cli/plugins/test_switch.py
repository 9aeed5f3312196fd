from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.cli.plugins.switch import text_with_disabled, text_with_enabled

KEYS = st.sampled_from(["a", "b", "c-d", "image/openai"])
LAID_OUT = """\
# Top.
base_branch = "main"  # here

[plugins]  # these
# Ours:
enabled = [  # a list
  "a",  # the first
  "b-c",
]
disabled = []

[plugins.settings.a]
on_error = "pass"
"""


def plugins(text: str) -> dict[str, list[str]]:
    table = tomllib.loads(text).get("plugins", {})
    return {name: table.get(name, []) for name in ("enabled", "disabled")}


def test_nothing_but_the_list_changes() -> None:
    text = text_with_enabled(LAID_OUT, "new", listed=True)

    assert text.splitlines() == [
        *LAID_OUT.splitlines()[:8],
        '  "new",',
        *LAID_OUT.splitlines()[8:],
    ]


@pytest.mark.parametrize("spelled", ["b-c", "b_c"])
def test_a_name_is_the_same_however_its_dashes_are_spelled(spelled: str) -> None:
    assert text_with_enabled(LAID_OUT, spelled, listed=True) == LAID_OUT
    assert plugins(text_with_disabled(LAID_OUT, spelled, listed=False)) == {
        "enabled": ["a"],
        "disabled": [],
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        'base_branch = "main"\n',
        "[plugins]\n",
        'plugins.disabled = ["x"]\n',
        'plugins = { disabled = ["x"] }\n',
        '[plugins]\r\ndisabled = ["x"]\r\n',
        '[stages]\ndefault = "auto"\n[plugins.settings.x]\non_error = "pass"\n',
    ],
)
def test_a_plugin_can_be_switched_on_in_any_file(text: str) -> None:
    switched = text_with_enabled(text, "x", listed=True)

    assert plugins(switched) == {"enabled": ["x"], "disabled": []}
    rest = {key: value for key, value in tomllib.loads(text).items() if key != "plugins"}
    assert {key: value for key, value in tomllib.loads(switched).items() if key != "plugins"} == rest
    assert text_with_enabled(switched, "x", listed=True) == switched


def test_a_file_that_says_nothing_of_plugins_stays_as_it_is_where_nothing_has_to_be_said() -> None:
    assert text_with_enabled("# c\n", "x", listed=False) == "# c\n"


@given(st.lists(KEYS, unique=True), st.lists(KEYS, unique=True), KEYS)
def test_switching_moves_one_name_and_no_other(enabled: list[str], disabled: list[str], key: str) -> None:
    text = f"[plugins]\nenabled = {enabled}\ndisabled = {disabled}\n"

    on, off = (
        plugins(text_with_enabled(text, key, listed=True)),
        plugins(text_with_disabled(text, key, listed=True)),
    )

    assert set(on["enabled"]) == {*enabled, key}
    assert set(on["disabled"]) == set(disabled) - {key}
    assert set(off["enabled"]) == set(enabled) - {key}
    assert set(off["disabled"]) == {*disabled, key}


def test_two_plugins_whose_names_differ_in_a_dash_are_switched_each_for_itself() -> None:
    text = '[plugins]\nenabled = ["x-y"]\n'

    both = text_with_enabled(text, "x_y", listed=True, rivals={"x-y"})

    assert plugins(both)["enabled"] == ["x-y", "x_y"]
    assert text_with_disabled(both, "x_y", listed=False, rivals={"x-y"}) == text
