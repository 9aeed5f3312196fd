from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from prloom.api.manifest import Manifest
from prloom.extensions import registry
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.filters import PluginOptions, PluginSelection, SkippedPlugin
from prloom.extensions.host.inline import InlineHost
from prloom.extensions.host.interface import Registered
from prloom.extensions.registry import PluginEntry

SPY = """
    from pathlib import Path

    Path(__file__).with_name("executed").touch()

    def register(ctx):
        ctx.register_hook("onEvent", lambda event, ctx: None)
"""


@pytest.mark.parametrize(
    ("manifest", "wishes"),
    [
        ("", PluginOptions()),
        ("", PluginOptions(enabled=["spy"], disabled=["spy"])),
        ('kind = "backend"', PluginOptions(enabled=["spy"])),
        ('requires_env = ["SPY_KEY"]', PluginOptions(enabled=["spy"])),
        ("name = ", PluginOptions(enabled=["spy"])),
    ],
)
def test_a_plugin_that_is_not_enabled_is_listed_but_not_chosen_and_none_of_its_code_runs(
    folder: Callable[..., Path], tmp_path: Path, environ: Mapping[str, str], manifest: str, wishes: PluginOptions
) -> None:
    spy = folder("prloom/plugins/spy", SPY, manifest)

    selection = registry.select_plugins(tmp_path, wishes, environ)

    assert [entry.place for entry in registry.entries(selection) if entry.name == "spy"] == [str(spy)]
    assert "spy" not in [found.key for found in selection.chosen]
    assert not (spy / "executed").exists()


async def test_the_code_of_a_plugin_that_is_enabled_runs_when_its_host_starts_and_not_before(
    folder: Callable[..., Path], tmp_path: Path, environ: Mapping[str, str]
) -> None:
    spy = folder("prloom/plugins/spy", SPY)

    selection = registry.select_plugins(tmp_path, PluginOptions(enabled=["spy"]), environ)
    (found,) = [found for found in selection.chosen if found.key == "spy"]
    host = InlineHost(found, {})
    assert not (spy / "executed").exists()

    await host.start()
    assert (spy / "executed").exists()


def a_plugin(key: str, **manifest: object) -> DiscoveredPlugin:
    described = msgspec.structs.replace(Manifest(name=key), **manifest)
    return DiscoveredPlugin(key=key, source="project", path=f"/p/{key}", manifest=described)


def test_plugins_are_listed_in_their_order_then_those_that_fail_then_those_that_are_off() -> None:
    selection = PluginSelection(
        chosen=(a_plugin("z", version="2", description="Zed"), a_plugin("b"), a_plugin("c")),
        left=(
            SkippedPlugin(a_plugin("a"), "not enabled"),
            SkippedPlugin(a_plugin("y"), "its manifest is bad", failed=True),
        ),
    )
    loaded = {"z": Registered(hooks=("onEvent",), commands={"note": "help"}, warnings=("beware",)), "b": "it raised"}

    assert registry.entries(selection, loaded) == (
        PluginEntry(
            "z",
            "project",
            "/p/z",
            "on",
            version="2",
            description="Zed",
            hooks=("onEvent",),
            commands=("note",),
            warnings=("beware",),
        ),
        PluginEntry("b", "project", "/p/b", "failed", "it raised", version="0"),
        PluginEntry("c", "project", "/p/c", "on", version="0"),
        PluginEntry("y", "project", "/p/y", "failed", "its manifest is bad", version="0"),
        PluginEntry("a", "project", "/p/a", "off", "not enabled", version="0"),
    )


def test_of_a_plugin_that_is_not_loaded_the_list_shows_what_its_manifest_announces() -> None:
    announced = a_plugin(
        "a", provides_hooks=("on_event", "zzz"), provides_commands=("/note",), provides_tools=("look",)
    )

    (entry,) = registry.entries(PluginSelection(left=(SkippedPlugin(announced, "not enabled"),)))

    assert (entry.hooks, entry.commands, entry.tools) == (("onEvent",), ("note",), ("look",))


def test_a_plugin_that_is_off_and_broken_is_told_to_be_both() -> None:
    broken = SkippedPlugin(msgspec.structs.replace(a_plugin("a"), error="no manifest", manifest=None), "not enabled")

    (entry,) = registry.entries(PluginSelection(left=(broken,)))

    assert (entry.state, entry.reason) == ("off", "not enabled; it is broken: no manifest")


def test_a_command_belongs_to_the_first_plugin_that_has_it_and_the_other_is_warned() -> None:
    loaded = {
        "a": Registered(commands={"note": "", "see": ""}),
        "b": Registered(commands={"Note": ""}),
        "c": Registered(commands={"other": ""}),
    }

    assert registry.clashes(loaded) == {
        "b": ("plugin b: plugin a has the command /Note too and comes first; plugins.order changes that",)
    }
