"""The table `[tools]`: the tools that agents get while they run."""

from datetime import timedelta

from pydantic import Field

from prloom.config.section import ConfigSection
from prloom.config.values import Duration


class ToolsSection(ConfigSection):
    """The tools that agents get over MCP while they run."""

    confirmation_timeout: Duration = Field(
        default=timedelta(minutes=10),
        description="How long a call that a person has to allow, or a question of an agent, waits before it is denied.",
    )
