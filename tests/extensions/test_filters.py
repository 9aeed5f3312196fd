from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from prloom.api.manifest import Manifest
from prloom.extensions import filters
from prloom.extensions.discovery import DiscoveredPlugin, PluginSource
from prloom.extensions.filters import PluginFailure, PluginOptions, PluginSelection


def a_plugin(key: str, source: PluginSource = "project", **manifest: object) -> DiscoveredPlugin:
    return DiscoveredPlugin(
        key=key,
        source=source,
        path=f"/{source}/{key}",
        manifest=msgspec.structs.replace(Manifest(name=key.rsplit("/", maxsplit=1)[-1]), **manifest),
    )


@dataclass(frozen=True)
class Summary:
    chosen: list[str]
    left: dict[str, str]
    failed: list[str]


def summary(selection: PluginSelection) -> Summary:
    return Summary(
        [plugin.path for plugin in selection.chosen],
        {left.found.path: left.reason for left in selection.left},
        [left.found.path for left in selection.left if left.failed],
    )


def test_bundled_plugins_are_on_and_others_are_not() -> None:
    selection = filters.select([a_plugin("a", "bundled"), a_plugin("b"), a_plugin("c", "user")], PluginOptions(), {})

    assert summary(selection) == Summary(
        ["/bundled/a"],
        {
            "/project/b": "not enabled; `prloom plugins enable b` enables it",
            "/user/c": "not enabled; `prloom plugins enable c` enables it",
        },
        [],
    )


def test_an_enabled_plugin_runs_and_a_disabled_one_does_not_even_if_enabled() -> None:
    found = [a_plugin("a", "bundled"), a_plugin("b"), a_plugin("c")]

    selection = filters.select(found, PluginOptions(enabled=["b", "c"], disabled=["a", "c"]), {})

    assert summary(selection) == Summary(
        ["/project/b"],
        {
            "/bundled/a": "disabled: it is listed in plugins.disabled",
            "/project/c": "disabled: it is listed in plugins.disabled",
        },
        [],
    )


def test_a_plugin_of_another_kind_is_left_out_with_its_kind_as_the_reason() -> None:
    selection = filters.select([a_plugin("a", kind="backend")], PluginOptions(enabled=["a"]), {})

    assert summary(selection).left == {
        "/project/a": "of kind 'backend', which this prloom does not support; it supports standalone"
    }
    assert summary(selection).failed == ["/project/a"]
    assert summary(filters.select([a_plugin("a", kind="backend")], PluginOptions(), {})).failed == []


def test_of_two_enabled_plugins_with_one_key_the_later_source_wins() -> None:
    found = [a_plugin("a", "bundled"), a_plugin("a", "user"), a_plugin("a", "project"), a_plugin("a", "installed")]

    selection = filters.select(found[:3], PluginOptions(enabled=["a"]), {})

    assert summary(selection) == Summary(
        ["/project/a"],
        {
            "/bundled/a": "replaced by the project plugin of the same key (/project/a)",
            "/user/a": "replaced by the project plugin of the same key (/project/a)",
        },
        [],
    )
    assert [plugin.source for plugin in filters.select(found, PluginOptions(enabled=["a"]), {}).chosen] == ["installed"]


def test_a_plugin_that_is_not_enabled_never_replaces_one_that_is() -> None:
    stranger = a_plugin("memory", "project")

    selection = filters.select([a_plugin("memory", "bundled"), stranger], PluginOptions(), {})

    assert summary(selection).chosen == ["/bundled/memory"]


def test_a_plugin_of_another_kind_never_replaces_one_that_runs() -> None:
    found = [a_plugin("memory", "bundled"), a_plugin("memory", "project", kind="backend")]

    assert summary(filters.select(found, PluginOptions(enabled=["memory"]), {})).chosen == ["/bundled/memory"]


def test_a_plugin_with_an_error_fails_if_it_should_run_and_is_quiet_if_not() -> None:
    bad = [msgspec.structs.replace(a_plugin(key), error="no manifest", manifest=None) for key in ("a", "b")]

    selection = filters.select(bad, PluginOptions(enabled=["a"]), {})

    assert summary(selection) == Summary(
        [],
        {"/project/a": "no manifest", "/project/b": "not enabled; `prloom plugins enable b` enables it"},
        ["/project/a"],
    )


def test_two_enabled_keys_with_one_slug_are_an_error_for_both() -> None:
    found = [a_plugin("image/a-b"), a_plugin("image__a_b", "user"), a_plugin("c")]

    selection = filters.select(found, PluginOptions(enabled=["image/a-b", "image__a_b", "c"]), {})

    assert summary(selection).chosen == ["/project/c"]
    assert summary(selection).failed == ["/project/image/a-b", "/user/image__a_b"]
    assert summary(selection).left["/project/image/a-b"] == (
        "image/a-b (/project/image/a-b) and image__a_b (/user/image__a_b) would be loaded as the same module"
        " prloom_plugins.image__a_b; rename or disable one"
    )


def test_a_slug_that_only_a_sleeping_plugin_shares_is_no_clash() -> None:
    found = [a_plugin("a-b"), a_plugin("a_b")]

    assert summary(filters.select(found, PluginOptions(enabled=["a-b"]), {})).chosen == ["/project/a-b"]
    assert summary(filters.select(found, PluginOptions(enabled=["a-b", "a_b"], disabled=["a-b"]), {})).chosen == [
        "/project/a_b"
    ]


def test_one_key_twice_in_one_source_is_an_error_for_both() -> None:
    twice = [a_plugin("a"), msgspec.structs.replace(a_plugin("a"), path="/project/a.py")]

    selection = filters.select(twice, PluginOptions(enabled=["a"]), {})

    reason = "/project/a and /project/a.py have the same name, a, so none of them is loaded; rename or remove one"
    assert summary(selection).failed == ["/project/a", "/project/a.py"]
    assert selection.failures == (PluginFailure("a", "project", reason),)


def test_an_enabled_name_that_no_plugin_has_is_a_failure() -> None:
    (failure,) = filters.select([a_plugin("memory", "bundled")], PluginOptions(enabled=["memori"]), {}).failures

    assert failure == PluginFailure(
        "memori", "", "plugins.enabled: there is no plugin 'memori'; did you mean 'memory'?"
    )


def test_a_plugin_whose_variables_are_missing_does_not_run() -> None:
    found = [a_plugin("a", requires_env=("KEY", "OTHER", "EMPTY"))]

    selection = filters.select(found, PluginOptions(enabled=["a"]), {"OTHER": "1", "EMPTY": ""})

    assert summary(selection).left == {"/project/a": "it needs KEY, EMPTY in the environment"}
    assert summary(selection).failed == ["/project/a"]
    assert filters.select(found, PluginOptions(enabled=["a"]), dict.fromkeys(("KEY", "OTHER", "EMPTY"), "1")).left == ()


@pytest.mark.parametrize(
    ("wishes", "failed"),
    [
        (PluginOptions(), []),
        (PluginOptions(enabled=["a"]), ["/bundled/a"]),
        (PluginOptions(settings={"a": {"quiet": "2m"}}), ["/bundled/a"]),
        (PluginOptions(enabled=["a"], disabled=["a"]), []),
    ],
)
def test_a_bundled_plugin_that_lacks_a_variable_has_failed_only_if_somebody_wants_it(
    wishes: PluginOptions, failed: list[str]
) -> None:
    found = [a_plugin("a", "bundled", requires_env=("KEY",))]

    assert summary(filters.select(found, wishes, {})).failed == failed


def test_a_plugin_that_asks_for_the_forges_token_does_not_run() -> None:
    found = [a_plugin("a", requires_env=("GITHUB_TOKEN",))]

    assert summary(filters.select(found, PluginOptions(enabled=["a"]), {"GITHUB_TOKEN": "t"})).left == {
        "/project/a": "it asks for GITHUB_TOKEN, but plugins must not get a forge's token"
    }


def test_the_order_is_the_configured_one_then_by_source_and_key() -> None:
    found = [a_plugin("z", "bundled"), a_plugin("y", "user"), a_plugin("b"), a_plugin("a"), a_plugin("first")]
    wishes = PluginOptions(enabled=["y", "b", "a", "first"], order=["first", "b", "first"])

    assert [plugin.key for plugin in filters.select(found, wishes, {}).chosen] == ["first", "b", "z", "y", "a"]


def test_a_name_may_be_written_with_either_dash() -> None:
    found = [a_plugin("quiet-period"), a_plugin("memory", "bundled")]
    wishes = PluginOptions(enabled=["quiet_period"], settings={"quiet_period": {"minutes": 5}})

    selection = filters.select(found, wishes, {})

    assert [plugin.key for plugin in selection.chosen] == ["memory", "quiet-period"]
    assert selection.warnings == ()
    assert filters.settings_of("quiet-period", wishes, ["quiet-period", "memory"]) == {"minutes": 5}
    assert filters.settings_of("memory", wishes, ["quiet-period", "memory"]) == {}


def test_an_exact_name_is_never_taken_for_another() -> None:
    found = [a_plugin("a-b"), a_plugin("a_b", "user")]

    assert summary(filters.select(found, PluginOptions(enabled=["a_b"]), {})).chosen == ["/user/a_b"]


def test_names_that_mean_nothing_are_warnings_with_the_nearest() -> None:
    wishes = PluginOptions(
        enabled=["memori"], disabled=["zzz"], order=["memroy"], settings={"mem/ory": {}}, permissions=["memry"]
    )

    assert filters.select([a_plugin("memory", "bundled")], wishes, {}).warnings == (
        "plugins.enabled: there is no plugin 'memori'; did you mean 'memory'?",
        "plugins.disabled: there is no plugin 'zzz'; `prloom plugins list` lists all plugins",
        "plugins.order: there is no plugin 'memroy'; did you mean 'memory'?",
        "plugins.settings: there is no plugin 'mem/ory'; did you mean 'memory'?",
        "plugins.permissions: there is no plugin 'memry'; did you mean 'memory'?",
    )
