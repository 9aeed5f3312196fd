"""The table `[bridges]`: what every bridge has, and what each bridge that comes with prloom has itself.

The keys of a bundled bridge, their defaults and what they mean are in the `Config` of `settings.py` in its folder.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, create_model

from prloom import bundled
from prloom.config.section import ConfigSection
from prloom.config.values import Duration, Flag, Json, Text


class BridgeSection(ConfigSection):
    """What every bridge has; `settings` is what the bridge itself gets as its configuration."""

    enabled: Flag = Field(default=True, description="Whether this bridge is used.")
    poll_interval: Duration = Field(default=timedelta(seconds=60), description="How often prloom polls the source.")

    @staticmethod
    def common_keys() -> frozenset[str]:
        """Return the keys that are prloom's, not the bridge's."""
        return frozenset({*BridgeSection.model_fields, "module"})

    @property
    def settings(self) -> Mapping[str, object]:
        """Return the keys that are the bridge's own."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in self.common_keys()}
        return {**own, **(self.model_extra or {})}


class CustomBridgeSection(BridgeSection):
    """Your own bridge; prloom passes further keys to it unchanged."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Json] = Field(init=False)

    module: Text = Field(
        description="The bridge's Python file or folder, relative to the repository's root.",
        examples=["./tools/my_bridge.py"],
    )


class CustomBridges(ConfigSection):
    """Where feedback comes from and replies go to."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CustomBridgeSection] = Field(init=False)

    def named(self) -> Mapping[str, BridgeSection]:
        """Return every configured bridge by its name, the bundled ones first."""
        shipped = {name: getattr(self, name) for name in type(self).model_fields}
        return {**shipped, **self.__pydantic_extra__}


def bundled_sections(folder: Path | None) -> Iterator[tuple[str, type[BridgeSection]]]:
    """Yield each bundled bridge's name and its section, which has the keys of the bridge's own `Config` too."""
    if folder is None:
        return
    for name, package in bundled.packages(folder).items():
        file = package / "settings.py"
        section = BridgeSection
        if file.is_file():
            own: Any = _executed(name, file).Config
            section = create_model(f"{name}_section", __base__=(own, BridgeSection), __doc__=own.__doc__)
        yield name, section


def _executed(name: str, file: Path) -> Any:  # noqa: ANN401 - a module, whose names only its author knows
    """Execute a bundled bridge's settings alone: the bridge itself is loaded where it is used."""
    spec = importlib.util.spec_from_file_location(f"prloom_bridge_settings_{name}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file", path=str(file))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    BridgesSection = CustomBridges
else:
    _FIELDS = {name: (section, section()) for name, section in bundled_sections(bundled.folder("bridges"))}
    BridgesSection = create_model("BridgesSection", __base__=CustomBridges, __doc__=CustomBridges.__doc__, **_FIELDS)
