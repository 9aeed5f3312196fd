"""Defaults < prloom.toml < preset < environment < flags."""

from collections.abc import Callable, Mapping

import pytest

from prloom.config import stages
from prloom.config.models import Config
from prloom.errors import ConfigError

TOML = """
base_branch = "from-file"
[presets.careful]
base_branch = "from-preset"
[presets.careful.trust]
minimum = "maintain"
"""
ENVIRON = {"PRLOOM_BASE_BRANCH": "from-environment"}
FLAGS = ("base_branch=from-flags",)


@pytest.mark.parametrize(
    ("toml", "preset", "environ", "flags", "winner"),
    [
        ("", None, {}, (), "main"),
        (TOML, None, {}, (), "from-file"),
        (TOML, "careful", {}, (), "from-preset"),
        (TOML, "careful", ENVIRON, (), "from-environment"),
        (TOML, "careful", ENVIRON, FLAGS, "from-flags"),
    ],
)
def test_the_later_source_wins(
    *,
    load: Callable[..., Config],
    toml: str,
    preset: str | None,
    environ: Mapping[str, str],
    flags: tuple[str, ...],
    winner: str,
) -> None:
    assert load(toml, environ, flags, preset).base_branch == winner


def test_a_plan_that_chooses_a_preset_gets_its_overrides_and_the_rest_of_the_file(load: Callable[..., Config]) -> None:
    config = load(TOML + "users = ['ada']")

    careful = config.for_preset("careful")

    assert (careful.trust.minimum, careful.trust.users) == ("maintain", ("ada",))
    assert config.trust.minimum == "write"
    assert config.for_preset(None) == config


def test_a_preset_keeps_what_the_environment_and_the_flags_say(load: Callable[..., Config]) -> None:
    careful = load(TOML, ENVIRON, ("trust.minimum=admin",)).for_preset("careful")

    assert (careful.base_branch, careful.trust.minimum) == ("from-environment", "admin")


def test_a_preset_can_be_exchanged_for_another_one(load: Callable[..., Config]) -> None:
    config = load(TOML + "[presets.loose.trust]\nminimum = 'read'")

    assert config.for_preset("careful").for_preset("loose") == config.for_preset("loose")


def test_a_preset_that_nobody_defined_is_named_with_the_nearest_one(load: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError, match=r"^no preset carefull is configured; did you mean careful\?$"):
        load(TOML).for_preset("carefull")
    with pytest.raises(ConfigError, match=r"^no preset x is configured; add \[presets.x\] to prloom.toml$"):
        load(TOML, preset="x")


def test_every_preset_is_checked_when_the_file_is_loaded(complaints: Callable[..., list[str]]) -> None:
    assert complaints("[presets.fast.backoff]\nmaximum = '1s'\n[presets.slow.trust]\nminimm = 'read'") == [
        "prloom.toml: presets.fast.backoff.initial is longer than backoff.maximum; change one of the two",
        "prloom.toml: unknown key presets.slow.trust.minimm; did you mean minimum?",
    ]


def test_what_is_wrong_without_the_preset_is_said_once(complaints: Callable[..., list[str]]) -> None:
    assert complaints("base_branch = 3\n[presets.fast.trust]\nminimum = 'read'") == [
        'prloom.toml: base_branch is 3, not text; put it in quotes: "3"'
    ]


def test_a_preset_cannot_hold_presets(complaints: Callable[..., list[str]]) -> None:
    assert complaints("[presets.a.presets.b]\n") == [
        "prloom.toml: presets.a.presets: a preset cannot contain presets; move its keys to [presets.a]"
    ]


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ("[presets.a.bridges.local]\nenabled = false", "presets.a.bridges"),
        ("[presets.'b c'.bridges]\n", 'presets."b c".bridges'),
        ("[presets.a]\nbridges.github.poll_interval = '1h'", "presets.a.bridges"),
    ],
)
def test_a_preset_cannot_change_the_bridges_which_serve_the_whole_repository(
    complaints: Callable[..., list[str]], toml: str, key: str
) -> None:
    (line,) = complaints(toml)

    why = "a preset cannot change the bridges, because they serve the whole repository"
    assert line == f"prloom.toml: {key}: {why}; move its keys to [bridges]"


def test_a_preset_is_a_table(complaints: Callable[..., list[str]]) -> None:
    assert complaints("[presets]\na = 3") == [
        "prloom.toml: presets.a is 3, not a table; write its keys below [presets.a]"
    ]


def test_a_list_replaces_the_list_below_it(load: Callable[..., Config]) -> None:
    assert load("[trust]\nusers = ['ada', 'bob']", {"PRLOOM_TRUST__USERS": '["eve"]'}).trust.users == ("eve",)


def test_another_agent_does_not_inherit_the_model_of_the_one_it_replaces(load: Callable[..., Config]) -> None:
    toml = "[stages]\ntriage = {agent = 'claude', model = 'opus'}\n[presets.other.stages]\ntriage = {agent = 'codex'}"

    assert stages.stage(load(toml, preset="other"), "triage") == ("codex", None)


def test_a_model_alone_keeps_the_agent_below_it(load: Callable[..., Config]) -> None:
    toml = "[models.strong]\nagent = 'claude'\nmodel = 'opus'"

    assert load(toml, {}, ("models.strong.model=haiku",)).models["strong"].agent == "claude"


# The environment.


def test_a_variable_names_section_and_key_with_two_underscores(load: Callable[..., Config]) -> None:
    config = load("", {"PRLOOM_DISPATCHER__MAX_PARALLEL_PLANS": "9", "PRLOOM_BRIDGES__LOCAL__ENABLED": "false"})

    assert config.dispatcher.max_parallel_plans == 9
    assert config.bridges.local.enabled is False


@pytest.mark.parametrize("text", ["2024", "true", "1979-05-27", "'2024'"])
def test_a_value_that_happens_to_be_toml_is_text_where_text_is_meant(load: Callable[..., Config], text: str) -> None:
    assert load("", {"PRLOOM_BASE_BRANCH": text}).base_branch == text.strip("'")
    assert load("", {}, (f"base_branch={text}",)).base_branch == text.strip("'")


def test_a_value_that_fits_neither_way_is_refused_as_what_it_looks_like(complaints: Callable[..., list[str]]) -> None:
    assert complaints("", {"PRLOOM_DISPATCHER__TICK_INTERVAL": "30"}) == [
        (
            'PRLOOM_DISPATCHER__TICK_INTERVAL: dispatcher.tick_interval is 30, which has no unit; write "30s" for '
            'seconds, or "30m" for minutes'
        )
    ]


def test_a_variable_reaches_a_plugin_whose_name_it_cannot_spell(load: Callable[..., Config]) -> None:
    plugins = load(
        "[plugins.settings.Quiet-Period]\nwait = '5m'", {"PRLOOM_PLUGINS__SETTINGS__QUIET_PERIOD__WAIT": "1m"}
    ).plugins

    assert plugins.settings_of("Quiet-Period").own == {"wait": "1m"}


def test_a_mistyped_variable_is_an_error_with_the_right_one(complaints: Callable[..., list[str]]) -> None:
    assert complaints(
        "",
        {
            "PRLOOM_DISPATCHER__TICK_INTERVALL": "1s",
            "PRLOOM_DISPATCHER_TICK_INTERVAL": "1s",
            "PRLOOM_BASE_BRANH": "x",
        },
    ) == [
        "PRLOOM_BASE_BRANH: this variable sets no key; did you mean PRLOOM_BASE_BRANCH?",
        "PRLOOM_DISPATCHER_TICK_INTERVAL: this variable sets no key; did you mean PRLOOM_DISPATCHER__TICK_INTERVAL?",
        (
            "PRLOOM_DISPATCHER__TICK_INTERVALL: unknown key dispatcher.tick_intervall; did you mean "
            "PRLOOM_DISPATCHER__TICK_INTERVAL?"
        ),
    ]


def test_variables_that_are_no_configuration_are_left_alone(load: Callable[..., Config]) -> None:
    environ = {"PRLOOM_HOME": "/x", "PRLOOM_RUN": "1", "PRLOOM_TRACEBACK": "1", "PRLOOM_SLACK_TOKEN": "s", "PATH": "/"}

    assert load("", environ) == load()


# Flags.


def test_a_flag_may_set_a_name_that_needs_quotes(load: Callable[..., Config]) -> None:
    config = load("", {}, ('plugins.settings."image/openai".size=3',))

    assert config.plugins.settings_of("image/openai").own == {"size": 3}


def test_a_flag_with_a_mistake_is_named_as_it_was_given(complaints: Callable[..., list[str]]) -> None:
    assert complaints("", {}, ("stages.triag=claude",)) == [
        "--set stages.triag: unknown key stages.triag; did you mean triage?"
    ]


@pytest.mark.parametrize("flag", ["base_branch", "=x", "a b=1", "a.=1", "a\nb=1", "[trust]\nminimum=admin"])
def test_a_flag_that_sets_nothing_says_how_to_write_one(complaints: Callable[..., list[str]], flag: str) -> None:
    assert "does not name a key and a value; write --set dispatcher.tick_interval=5s" in "\n".join(
        complaints("", {}, (flag,))
    )


def test_a_value_with_a_line_break_sets_one_key_only(load: Callable[..., Config]) -> None:
    config = load("", {}, ("plugins.settings.a.note=1\nbase_branch='x'",))

    assert config.plugins.settings_of("a").own == {"note": "1\nbase_branch='x'"}
    assert config.base_branch == "main"
