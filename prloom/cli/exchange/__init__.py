"""`prloom exchange`: a durable queue of messages and claims, for any program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli.lazy import Lazy, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Lazy] = {
    "publish": Lazy("prloom.cli.exchange.publish", "Publish a message on a topic.", "publish"),
    "run": Lazy("prloom.cli.exchange.run", "Run a command for each message of a topic."),
    "request": Lazy("prloom.cli.exchange.publish", "Publish a message, wait for its reply, and print that.", "request"),
    "read": Lazy("prloom.cli.exchange.read", "Print messages, and follow what comes."),
    "check": Lazy("prloom.cli.exchange.show", "Show the outcome of a conversation.", "check"),
    "inspect": Lazy("prloom.cli.exchange.show", "Show a message's state and its claims.", "inspect"),
    "notify": Lazy("prloom.cli.exchange.notify", "Report conversations that have ended."),
    "cancel": Lazy("prloom.cli.exchange.manage", "Cancel a message.", "cancel"),
    "retry": Lazy("prloom.cli.exchange.manage", "Make a message ready again.", "retry"),
    "stats": Lazy("prloom.cli.exchange.show", "Show the messages of each topic by state.", "stats"),
    "prune": Lazy("prloom.cli.exchange.manage", "Remove conversations that ended long ago.", "prune"),
}

command = LazyGroup(
    "exchange",
    lazy=COMMANDS,
    help="A durable queue of messages and claims, for any program. It needs no dispatcher and no pull request.",
)
