"""Put off people's comments until nobody has spoken for a while: a discussion is answered once, when it is over.

Each comment restarts the period for all that wait on the plan, but none waits longer than `at_most`. Bots, commands,
checks and the local file are not held up, and do not count as speaking.
"""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict, model_validator

from prloom.api import Duration, PluginContext, duration

from .listener import QuietPeriod


class Config(BaseModel):
    """Without `quiet`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    quiet: Duration | None = None
    at_most: Duration = timedelta(minutes=30)

    @model_validator(mode="after")
    def _bounded(self) -> Config:
        if self.quiet is not None and self.at_most < self.quiet:
            most, quiet = duration.spell(self.at_most), duration.spell(self.quiet)
            raise ValueError(f"at_most is {most}, which is shorter than quiet, {quiet}; make it longer")
        return self


def register(ctx: PluginContext) -> None:
    """Register to hear everything that is said, and to put off what people say."""
    if ctx.config.quiet is None:
        return
    listener = QuietPeriod(ctx.config.quiet, ctx.config.at_most)
    ctx.register_hook("onEvent", listener.hear)
    ctx.register_hook("beforeTriage", listener.hold)
