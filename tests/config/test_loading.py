import os
import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from prloom.config import loading
from prloom.config.models import Config
from prloom.errors import ConfigError


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    config = loading.load(tmp_path, {})

    assert config == Config()
    assert config.base_branch == "main"
    assert config.worktrees_dir == Path("prloom/.local/worktrees")
    assert config.backoff.deadline == timedelta(days=7)
    assert config.trust.minimum == "write"


def test_a_file_overrides_the_keys_that_it_names_and_no_others(load: Callable[..., Config]) -> None:
    config = load('[dispatcher]\ntick_interval = "250ms"')

    assert config.dispatcher.tick_interval == timedelta(milliseconds=250)
    assert config.dispatcher.max_parallel_plans == 4


def test_the_configuration_cannot_be_changed_after_it_was_checked(load: Callable[..., Config]) -> None:
    with pytest.raises(ValidationError):
        load().base_branch = "other"


def test_a_tree_from_elsewhere_is_checked_like_a_file() -> None:
    assert loading.parse({"trust": {"users": ["ada"]}}).trust.users == ("ada",)
    with pytest.raises(ConfigError, match=r"unknown key trust\.user; did you mean users"):
        loading.parse({"trust": {"user": ["ada"]}})


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_bytes(b'\xef\xbb\xbfbase_branch = "trunk"\r\n')

    assert loading.load(tmp_path, {}).base_branch == "trunk"


# What is wrong is said by file, key, what it is and what to do, a line each.


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (
            "[dispatcher]\ntick_intervall = '1s'",
            "prloom.toml: unknown key dispatcher.tick_intervall; did you mean tick_interval?",
        ),
        (
            "[exchange]\nurl = 'mysql://me:secret@host/db'",
            (
                'prloom.toml: exchange.url is "host/db", which is not the address of a PostgreSQL server; write one '
                'such as "postgresql://host/database", or leave it out'
            ),
        ),
        ("base-branch = 'x'", "prloom.toml: unknown key base-branch; did you mean base_branch?"),
        ("tick_interval = '1s'", "prloom.toml: unknown key tick_interval; did you mean dispatcher.tick_interval?"),
        ("[trust]\nzzz = 1", "prloom.toml: unknown key trust.zzz; trust has minimum, users, bots"),
        (
            "[dispatcher]\ntick_interval = 30",
            (
                'prloom.toml: dispatcher.tick_interval is 30, which has no unit; write "30s" for seconds, or "30m" for '
                "minutes"
            ),
        ),
        (
            "[dispatcher]\nmax_parallel_plans = '4'",
            'prloom.toml: dispatcher.max_parallel_plans is "4", not a whole number; write one without quotes',
        ),
        (
            "[dispatcher]\nmax_parallel_plans = 0",
            "prloom.toml: dispatcher.max_parallel_plans is 0; write 1 or more",
        ),
        (
            "[trust]\nminimum = 'rite'",
            (
                'prloom.toml: trust.minimum is "rite"; did you mean write (one of none, read, triage, write, maintain, '
                "admin)?"
            ),
        ),
        ("[trust]\nusers = 'ada'", 'prloom.toml: trust.users is "ada", not a list; write a list, such as ["ada"]'),
        ("[bridges.local]\nenabled = 1", "prloom.toml: bridges.local.enabled is 1; write true or false"),
        ("trust = 3", "prloom.toml: trust is 3, not a table; write its keys below [trust]"),
        ("models = 3", "prloom.toml: models is 3, not a table; write its keys below [models]"),
        ("base_branch = ''", "prloom.toml: base_branch is empty; give it a value, or remove the key"),
        ("base_branch = 3", 'prloom.toml: base_branch is 3, not text; put it in quotes: "3"'),
        (
            "base_branch = '--output=x'",
            (
                'prloom.toml: base_branch is "--output=x", which is not a valid name for a branch; write the '
                'branch\'s name, such as "main"'
            ),
        ),
        (
            "worktrees_dir = '..'",
            ('prloom.toml: worktrees_dir is "..", which would mix worktrees with other files; name a separate folder'),
        ),
        (
            "[plugins]\nenabled = ['a', 3]",
            'prloom.toml: plugins.enabled[1] is 3, not text; put it in quotes: "3"',
        ),
        (
            "[plugins.settings.memory]\non_error = 'ignore'",
            'prloom.toml: plugins.settings.memory.on_error is "ignore"; write one of defer, pass',
        ),
        (
            "[plugins.settings.memory]\nsince = 1979-05-27",
            (
                'prloom.toml: plugins.settings.memory.since holds "1979-05-27", which JSON cannot represent; write it '
                "as text, in quotes"
            ),
        ),
        (
            "[bridges.githb]\nrepo = 'a/b'",
            (
                'prloom.toml: bridges.githb.module is missing; write module = "./tools/my_bridge.py", or did you mean '
                "bridges.github?"
            ),
        ),
        (
            "[bridges.Ci]\nmodule = 'ci.py'",
            (
                "prloom.toml: bridges.Ci is not a valid name for a bridge; "
                "use lower-case letters, digits, - and _, at most 63"
            ),
        ),
        (
            "[bridges.github]\nrepo = 'x'",
            'prloom.toml: bridges.github.repo is "x", which is not the name of a repository; write "owner/name"',
        ),
        (
            "[bridges.github]\napi_url = 'file:///etc'",
            (
                'prloom.toml: bridges.github.api_url is "file:///etc", which is not a web address; write one such as '
                '"https://api.github.com"'
            ),
        ),
        (
            "[bridges.github]\nacknowledge = 'eye'",
            (
                'prloom.toml: bridges.github.acknowledge is "eye"; did you mean eyes (one of "", +1, -1, laugh, '
                "confused, heart, hooray, rocket, eyes)?"
            ),
        ),
        (
            "[bridges.local]\npoll_interval = '2 s'",
            (
                'prloom.toml: bridges.local.poll_interval is "2 s", which is not a duration; write a number and a '
                'unit, such as "250ms", "30s", "5m", "1h30m" or "7d"'
            ),
        ),
        (
            "[agents]\nmax_output = '16'",
            'prloom.toml: agents.max_output is not a size; write a number and a unit, such as "16MB" or "512KiB"',
        ),
        (
            "[agents]\nenv = ['GITHUB_TOKEN']",
            "prloom.toml: agents.env[0] names GITHUB_TOKEN, a forge's token, which agents must not get; remove it",
        ),
        (
            "[backoff]\ninitial = '2h'",
            "prloom.toml: backoff.initial is longer than backoff.maximum; change one of the two",
        ),
        (
            "[backoff]\ndeadline = '10s'",
            (
                "prloom.toml: backoff.deadline comes before the first retry; make it longer than backoff.initial, or "
                "make backoff.initial shorter"
            ),
        ),
        (
            "[bridges.ci]\nmodule = 'ci.py'\nlimit = inf",
            "prloom.toml: bridges.ci.limit holds Infinity, which JSON cannot represent; write it as text, in quotes",
        ),
        (
            "[stages]\ntriage = 'strog'\n[models.strong]\nagent = 'claude'",
            'prloom.toml: stages.triage is "strog", which is neither an agent nor a model; did you mean strong?',
        ),
        (
            "[stages]\nworker = 'command'",
            (
                'prloom.toml: stages.worker is "command", but agents.command.argv names no program; write '
                'argv = ["./my-agent"] below [agents.command]'
            ),
        ),
        (
            "[stages]\nworker = 3",
            'prloom.toml: stages.worker is 3; name an agent or a model, or write {agent = "…", model = "…"}',
        ),
        (
            "[stages]\nworker = {agent = 'claud'}",
            (
                'prloom.toml: stages.worker.agent is "claud"; did you mean claude (one of claude, codex, opencode, '
                "gemini, amp, command)?"
            ),
        ),
        (
            "[stages]\nworker = {agent = 'claude', modle = 'x'}",
            "prloom.toml: unknown key stages.worker.modle; did you mean model?",
        ),
        ("[models.fast]\nmodel = 'x'", 'prloom.toml: models.fast.agent is missing; write agent = "claude"'),
        (
            "[models.auto]\nagent = 'claude'",
            "prloom.toml: models.auto has a name that is reserved; give the model another name",
        ),
        (
            '"a\\nb" = 1',
            (
                'prloom.toml: unknown key "a\\nb"; the top level has base_branch, worktrees_dir, dispatcher, '
                "trust, backoff, outbox, bridges, plugins, models, stages, agents, tools, exchange, work, sandbox, "
                "limits, adopt, presets"
            ),
        ),
        ("a = \nb = 1", "prloom.toml:1:5: not valid TOML: Invalid value; correct it there"),
        ("a = [", "prloom.toml, at its end: not valid TOML: Invalid value; correct it there"),
    ],
)
def test_bad_input_gets_one_clear_line(complaints: Callable[..., list[str]], toml: str, line: str) -> None:
    assert complaints(toml) == [line]


def test_everything_that_is_wrong_is_said_at_once(complaints: Callable[..., list[str]]) -> None:
    lines = complaints("base_branch = 3\n[dispatcher]\ntick_interval = 30\n[nope]\n")

    assert [line.split(";")[0] for line in lines] == [
        "prloom.toml: base_branch is 3, not text",
        "prloom.toml: dispatcher.tick_interval is 30, which has no unit",
        "prloom.toml: unknown key nope",
    ]


def test_a_file_that_is_no_text_is_named_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_bytes(b"a = '\xff'")

    with pytest.raises(ConfigError, match=r"prloom\.toml: byte 5 is not UTF-8 text"):
        loading.load(tmp_path, {})


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").mkdir()

    with pytest.raises(ConfigError, match=r"prloom\.toml cannot be read: Is a directory"):
        loading.load(tmp_path, {})


@pytest.mark.parametrize("is_link", [False, True])
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path, *, is_link: bool) -> None:
    file = tmp_path / "prloom.toml"
    pipe = file
    if is_link:
        pipe = tmp_path / "pipe"
        file.symlink_to("pipe")
    os.mkfifo(pipe)

    with pytest.raises(ConfigError) as raised:
        loading.load(tmp_path, {})
    assert str(raised.value) == f"prloom.toml cannot be read: It is not a regular file; fix {file}"


def test_a_file_nested_beyond_reason_is_refused(complaints: Callable[..., list[str]]) -> None:
    assert complaints("a = " + "[" * 5000) == ["prloom.toml: the tables are nested too deeply; use fewer levels"]


# Names and values of the operator's own.


def test_a_bridge_of_ones_own_gets_its_further_keys_as_settings(load: Callable[..., Config]) -> None:
    bridges = load(
        "[bridges.ci]\nmodule = './ci.py'\npoll_interval = '5s'\nurl = 'x'\nlimits = {daily = [1, 2.5]}"
    ).bridges

    bridge = bridges.named()["ci"]
    assert (bridge.module, bridge.poll_interval) == ("./ci.py", timedelta(seconds=5))
    assert bridge.settings == {"url": "x", "limits": {"daily": [1, 2.5]}}


def test_a_built_in_bridge_gets_its_own_keys_as_settings(load: Callable[..., Config]) -> None:
    named = load("[bridges.github]\nrepo = 'ada/engine'").bridges.named()

    assert {"github", "local"} <= named.keys()
    assert named["github"].settings == {
        "repo": "ada/engine",
        "api_url": "https://api.github.com",
        "acknowledge": "eyes",
    }
    assert named["local"].settings == {}


def test_a_plugin_gets_its_further_keys_as_its_own(load: Callable[..., Config]) -> None:
    settings = load("[plugins.settings.'image/openai']\nsize = 3\non_error = 'pass'").plugins.settings_of(
        "image/openai"
    )

    assert settings.on_error == "pass"
    assert settings.own == {"size": 3}


def test_a_plugin_is_found_whichever_dash_its_name_is_written_with(load: Callable[..., Config]) -> None:
    plugins = load("[plugins.settings.quiet-period]\nwait = '5m'").plugins

    assert plugins.settings_of("quiet_period").own == {"wait": "5m"}


def test_a_plugin_without_settings_defers_on_error(load: Callable[..., Config]) -> None:
    settings = load().plugins.settings_of("memory")

    assert (settings.on_error, settings.own) == ("defer", {})


def test_a_login_may_be_written_with_an_at_sign(load: Callable[..., Config]) -> None:
    assert load("[trust]\nusers = ['@ada', 'bob']\nbots = ['dependabot[bot]']").trust.users == ("ada", "bob")


@pytest.mark.parametrize(("spelled", "size"), [('"16MB"', 16_000_000), ('"2MiB"', 2_097_152), ("1000", 1000)])
def test_a_size_has_a_unit_or_is_bytes(load: Callable[..., Config], spelled: str, size: int) -> None:
    assert load(f"[agents]\nmax_output = {spelled}").agents.max_output == size


def test_only_programs_that_can_leave_it_out_can_be_told_to_inherit(load: Callable[..., Config]) -> None:
    agents = load("[agents.codex]\ninherit = ['memory', 'hooks', 'mcp']").agents

    assert agents.inherited("codex") == ("memory", "hooks", "mcp")
    assert agents.inherited("claude") == agents.inherited("amp") == agents.inherited("command") == ()
    with pytest.raises(ConfigError, match=r"agents\.amp\.inherit"):
        load("[agents.amp]\ninherit = ['memory']")


@pytest.mark.parametrize(
    ("toml", "keys"),
    [
        ("trust.minimum = 'read'\nbackoff.initial = '1s'\nstages.triage = 'codex'\nagents.timeout = '1m'", []),
        ("plugins.disabled = ['memory']\nplugins.hook_timeout = '1s'", []),
        ("plugins.settings.memory.on_error = 'pass'", []),
        ("plugins.permissions.ci.add_messages = true", []),
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
    assert list(loading.keys_without_effect(tomllib.loads(toml))) == keys


def test_the_variable_of_the_exchanges_commands_is_no_setting(tmp_path: Path) -> None:
    config = loading.load(tmp_path, {"PRLOOM_EXCHANGE": "/a/file.db", "PRLOOM_EXCHANGE__URL": "postgresql://host/runs"})

    assert config.exchange.url == "postgresql://host/runs"
