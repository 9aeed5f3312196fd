"""`prloom exchange`: a durable queue of messages and claims, for any program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "publish": Lazy("prloom.cli.exchange.publish", "Publish a message on a topic."),
    "run": Lazy("prloom.cli.exchange.run", "Run a command for each message of a topic."),
    "request": Lazy("prloom.cli.exchange.request", "Publish a message, wait for its reply, and print that."),
    "read": Lazy("prloom.cli.exchange.read", "Print messages, and follow what comes."),
    "check": Lazy("prloom.cli.exchange.check", "Say how a conversation stands."),
    "inspect": Lazy("prloom.cli.exchange.inspect", "Show all that happened to a message."),
    "notify": Lazy("prloom.cli.exchange.notify", "Tell once when a conversation has ended."),
    "cancel": Lazy("prloom.cli.exchange.cancel", "End a message that is not wanted any more."),
    "retry": Lazy("prloom.cli.exchange.retry", "Have a message worked on again."),
    "stats": Lazy("prloom.cli.exchange.stats", "Show how each topic stands."),
    "prune": Lazy("prloom.cli.exchange.prune", "Remove conversations that ended long ago."),
}

command = LazyGroup(
    "exchange",
    lazy=COMMANDS,
    help="A durable queue of messages and claims, for any program. It needs no dispatcher and no pull request.",
)
