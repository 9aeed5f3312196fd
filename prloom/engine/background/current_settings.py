"""Read a plugin's settings as they are at each start of its daemon, and say when the operator has to give some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from prloom.api.manifest import Setting
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.background.secret_store import SecretStore
from prloom.extensions.background import settings
from prloom.extensions.background.settings import Given, SettingsMissingError
from prloom.model.record import Json

CONFIG_REQUEST = "PLUGIN_CONFIG_REQUEST"
CONFIG_COMPLETE = "PLUGIN_CONFIG_COMPLETE"

ReadTable = Callable[[str], Mapping[str, Json]]
"""Returns a plugin's table of `[plugins.settings.<name>]` as the file has it now; raises ConfigError."""


@dataclass
class CurrentSettings:
    """Returns one plugin's settings; `requested` says whether the operator was asked for some."""

    plugin: str
    schema: Mapping[str, Setting]
    read_table: ReadTable
    secrets: SecretStore
    environ: Mapping[str, str]
    activity: ActivityLog
    requested: bool = field(default=False, init=False)

    def __call__(self) -> Mapping[str, Json]:
        """Return the settings; raises PrloomError where one is missing or wrong. Secrets are kept out of events."""
        kept: Mapping[str, str] = {}
        if any(setting.secret for setting in self.schema.values()):
            kept = self.secrets.read(self.plugin)
        given = Given(self.read_table(self.plugin), kept, self.environ)
        try:
            values = settings.resolve(self.plugin, self.schema, given)
        except SettingsMissingError as error:
            self._record(CONFIG_REQUEST, {"missing": list(error.missing)})
            self.requested = True
            raise
        for name, value in values.items():
            if self.schema[name].secret:
                self.activity.hide(f"{name} of plugin {self.plugin}", str(value))
        if self.requested:
            self._record(CONFIG_COMPLETE, {})
            self.requested = False
        return values

    def _record(self, kind: str, data: Mapping[str, Json]) -> None:
        self.activity.record(kind, {"pluginName": self.plugin, **data}, plan_id=None)
