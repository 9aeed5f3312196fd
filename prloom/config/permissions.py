"""The tables `[plugins.permissions.<name>]`: what the daemon of a plugin may request of prloom."""

from typing import Literal

from pydantic import Field

from prloom.config.section import ConfigSection
from prloom.config.values import Count, Flag
from prloom.core.plugins.plugin_rights import PluginRights


class PermissionsSection(ConfigSection):
    """What one plugin's daemon may request of prloom. Nothing is permitted unless it is set here."""

    add_messages: Flag = Field(
        default=False, description="Whether it may add messages to a plan, and post on the pull request."
    )
    emit_events: Flag = Field(default=False, description="Whether it may emit events, which other plugins can see.")
    access_context: Flag = Field(
        default=False, description="Whether it may read plans, their trusted events and their runs."
    )
    trigger_agent: Flag | Literal["worker"] = Field(
        default=False,
        description='Whether it may run an agent: true permits the stage triage, which only reads; "worker" also the '
        "stage worker, which writes.",
    )
    messages_per_minute: Count = Field(
        default=10, ge=0, description="How many messages and posts it may add in any minute."
    )
    events_per_minute: Count = Field(default=60, ge=0, description="How many events it may emit in any minute.")

    @property
    def rights(self) -> PluginRights:
        """Return the table as the value that decides about requests."""
        return PluginRights(**self.model_dump())
