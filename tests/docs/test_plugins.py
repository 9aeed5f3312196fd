"""docs/plugins.md has every plugin that comes with prloom, and every setting with its default."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from prloom import bundled
from prloom.config import reference
from prloom.extensions import discovery, loading
from prloom.extensions.discovery import DiscoveredPlugin, PluginPaths

BUNDLED = discovery.discover(PluginPaths(bundled=bundled.folder("plugins"), installed=False))


def settings(plugin: DiscoveredPlugin) -> Mapping[str, Any]:
    """Return the settings of a plugin, those of a daemon or those of its code."""
    if plugin.is_daemon_only and plugin.manifest is not None:
        return plugin.manifest.config_schema
    name = f"prloom_plugins.docs_{plugin.code.parent.name}"
    fields: Mapping[str, Any] = loading.execute(name, Path(plugin.code)).Config.model_fields
    return fields


@pytest.mark.parametrize("plugin", BUNDLED, ids=lambda plugin: plugin.key)
def test_a_bundled_plugin_has_its_section_with_every_setting_and_its_default(
    plugin: DiscoveredPlugin, named: Callable[[str], Any]
):
    text = named("docs/plugins.md").section(plugin.key)
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE))
    spelled = {
        name: "none" if field.default is None else f"`{json.dumps(reference.as_toml(field.default))}`"
        for name, field in settings(plugin).items()
    }
    assert said == spelled
    assert f"[plugins.settings.{plugin.key}]" in text


def test_the_page_has_no_plugin_that_does_not_come_with_prloom(named: Callable[[str], Any]):
    assert re.findall(r"^## (\S+)$", named("docs/plugins.md").text, re.MULTILINE) == [each.key for each in BUNDLED]
