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
    "check": Lazy("prloom.cli.exchange.check", "Show the outcome of a conversation."),
    "inspect": Lazy("prloom.cli.exchange.inspect", "Show a message's state and its claims."),
    "notify": Lazy("prloom.cli.exchange.notify", "Report conversations that have ended."),
    "cancel": Lazy("prloom.cli.exchange.cancel", "Cancel a message."),
    "retry": Lazy("prloom.cli.exchange.retry", "Make a message ready again."),
    "stats": Lazy("prloom.cli.exchange.stats", "Show the messages of each topic by state."),
    "prune": Lazy("prloom.cli.exchange.prune", "Remove conversations that ended long ago."),
}

command = LazyGroup(
    "exchange",
    lazy=COMMANDS,
    help="A durable queue of messages and claims, for any program. It needs no dispatcher and no pull request.",
)
