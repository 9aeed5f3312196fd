"""Make the event, or the post, that a plugin's message becomes; the same message always has the same id."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from prloom.core.delivery import outbox
from prloom.core.plugins import message_chain
from prloom.model.action import Action, Comment
from prloom.model.event import Author, Event, Target
from prloom.model.kinds import PLUGIN_MESSAGE
from prloom.model.record import Json

LIMIT: Final = 16 * 1024
"""Bytes of UTF-8 that a message may have."""

LONGEST_ID: Final = 256

ID_PREFIX: Final = "plugin."
"""How the ids, the sources and the authors of messages by plugins begin; the plugin's key follows."""

RECEIVED: Final = "PLUGIN_MESSAGE_RECEIVED"
"""The activity event that tells of a message."""

_TRUST: Final = "operator"  # who permitted the plugin to add messages
_DIGITS: Final = 24


def problem(message_id: str, role: str, content: str) -> str | None:
    """Return which of the params of a message cannot be accepted, and why, or None."""
    if not 0 < len(message_id) <= LONGEST_ID:
        return f"message_id: it has {len(message_id)} characters; use 1 to {LONGEST_ID}"
    if role == "system":
        return 'role: "system" is refused: no plugin writes instructions; use "user" or "assistant"'
    if role not in {"user", "assistant"}:
        return f'role: {role[:50]!r} is not a role of a message; use "user" or "assistant"'
    size = len(content.encode("utf-8", "surrogatepass"))
    if size > LIMIT:
        return f"content: it has {size} bytes of UTF-8; at most {LIMIT} are accepted"
    if not content.strip():
        return "content: it is empty"
    return None


def event_id(plugin: str, plan_id: str, message_id: str) -> str:
    """Return the id of the event that a message becomes."""
    digest = sha256(f"{plan_id}\0{message_id}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{source(plugin)}:{digest[:_DIGITS]}"


def action_id(plugin: str, plan_id: str, message_id: str) -> str:
    """Return the id of the action that a message becomes."""
    return outbox.action_id(f"{plan_id}\0{message_id}", source(plugin), 0)


def is_echo(plugin: str, kind: str, data: Mapping[str, Json]) -> bool:
    """Whether an activity event tells a plugin of its own message: it knows of that, and would answer itself."""
    return kind == RECEIVED and data.get("pluginName") == plugin


def source(plugin: str) -> str:
    """Return the source, and the author, of what a plugin adds."""
    return f"{ID_PREFIX}{plugin}"


def event(plugin: str, plan_id: str, message_id: str, content: str, *, depth: int, created_at: str) -> Event:
    """Return the event that a message becomes; `depth` is which link of a chain of messages it is."""
    return Event(
        id=event_id(plugin, plan_id, message_id),
        source=source(plugin),
        type=PLUGIN_MESSAGE,
        title=f"Message of plugin {plugin}",
        body=content,
        author=Author(source(plugin), _TRUST),
        context={"plugin": plugin, "messageId": message_id, "depth": depth},
        created_at=created_at,
    )


def action(plugin: str, plan_id: str, message_id: str, content: str, target: Target) -> Action:
    """Return the action that posts a message."""
    return Action(id=action_id(plugin, plan_id, message_id), target=target, payload=Comment(content))


def is_message(event: Event) -> bool:
    """Whether an event is a plugin's message."""
    return event.type == PLUGIN_MESSAGE and event.source.startswith(ID_PREFIX)


def depth(event: Event) -> int:
    """Return which link of a chain an event is; 0 for one that no plugin's message is behind."""
    if not is_message(event):
        return 0
    found: Json = event.context.get("depth")
    if isinstance(found, bool) or not isinstance(found, int):
        return 1
    return min(max(found, 1), message_chain.MOST)
