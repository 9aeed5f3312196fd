"""Put off review feedback while checks run: an agent then sees the feedback and the failures together.

Whether checks run is what the source says: an event may carry `context.checks`, and `checks_changed` events carry
nothing else (docs/writing-a-plugin.md has the convention). Where nothing is said, nothing waits.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from prloom.api import Duration, PluginContext

from .gate import Gate


class Config(BaseModel):
    """Without `at_most`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    at_most: Duration | None = None
    types: tuple[str, ...] = ("pr_comment", "pr_review", "pr_review_comment", "review_feedback")


def register(ctx: PluginContext) -> None:
    """Register to hear of checks, and to put off feedback."""
    if ctx.config.at_most is None:
        return
    gate = Gate(ctx.config.at_most, ctx.config.types)
    ctx.register_hook("onEvent", gate.hear)
    ctx.register_hook("beforeTriage", gate.hold)
