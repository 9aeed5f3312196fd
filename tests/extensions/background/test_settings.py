"""Which settings a daemon gets."""

from __future__ import annotations

from typing import Any

import pytest

from prloom.api.manifest import Setting
from prloom.errors import ExtensionError
from prloom.extensions.background import declaration, environment, settings
from prloom.extensions.background.settings import Given, SettingsMissingError

SCHEMA = {
    "url": Setting(type="string", required=True),
    "window": Setting(type="integer", default=60),
    "mode": Setting(type="choice", choices=("a", "b")),
    "token": Setting(type="string", secret=True),
    "pin": Setting(type="integer", secret=True),
}


def resolve(table: dict[str, Any], secrets: dict[str, str] | None = None, **environ: str) -> dict[str, Any]:
    return dict(settings.resolve("odd", SCHEMA, Given(table, secrets or {}, environ)))


def test_a_default_counts_where_nothing_is_set_and_an_optional_setting_may_be_missing():
    assert resolve({"url": "u"}) == {"url": "u", "window": 60}


def test_a_secret_comes_from_the_kept_file_or_from_the_variable_that_is_named():
    kept = resolve({"url": "u"}, {"token": "t", "pin": "7"})
    named = resolve({"url": "u", "token": {"env": "MY_SECRET"}}, MY_SECRET="s")

    assert (kept["token"], kept["pin"]) == ("t", 7)
    assert named["token"] == "s"


def test_a_required_setting_that_is_missing_is_named_with_the_command_that_gives_it():
    with pytest.raises(SettingsMissingError) as caught:
        resolve({})

    assert caught.value.missing == ("url",)
    assert str(caught.value) == "its required settings are missing: url; run `prloom plugins config odd`"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"url": 5}, "url: expected a text"),
        ({"url": "u", "window": True}, "window: expected a whole number"),
        ({"url": "u", "mode": "c"}, "mode: expected one of a, b"),
        ({"url": "u", "token": "plain"}, "token: it is a secret"),
        ({"url": "u", "token": {"env": "GITHUB_TOKEN"}}, "GITHUB_TOKEN is a forge's token, which plugins must not get"),
    ],
)
def test_a_wrong_value_is_named_by_its_key_and_a_secret_is_not_shown(table: dict[str, Any], said: str):
    with pytest.raises(ExtensionError) as caught:
        resolve(table)

    assert said in str(caught.value)
    assert "plain" not in str(caught.value)


def test_a_setting_that_the_manifest_does_not_have_is_a_warning():
    assert settings.unknown("odd", SCHEMA, {"windw": 5}) == (
        "[plugins.settings.odd] windw is not known to the plugin and has no effect; did you mean 'window'?",
    )


def test_variables_are_upper_case_and_booleans_are_true_or_false():
    assert declaration.variable("max-size") == "PLUGIN_CONFIG_MAX_SIZE"
    assert [environment.text(value) for value in (True, False, 5, 0.5, "x")] == ["true", "false", "5", "0.5", "x"]


@pytest.mark.parametrize(
    ("kind", "text", "value"), [("integer", "7", 7), ("number", "0.5", 0.5), ("boolean", "TRUE", True)]
)
def test_a_text_is_read_as_its_setting_wants_it(kind: Any, text: str, value: object):
    assert settings.parsed(Setting(type=kind), text) == value
