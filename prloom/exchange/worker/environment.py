"""Make the environment that a command gets: the worker's own, and what it may want to know of its message."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from prloom.exchange import command_result
from prloom.exchange.store_url import VARIABLE as EXCHANGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prloom.exchange.claim import Claim
    from prloom.exchange.message import Message, Metadata, Scalar

WORKER = "PRLOOM_WORKER"
"""Holds the worker's name in all that it starts, so that it can be found when the worker was killed."""

META = "PRLOOM_META_"
OF_A_MESSAGE = ("PRLOOM_MESSAGE_ID", "PRLOOM_TOPIC", "PRLOOM_CONVERSATION_ID", "PRLOOM_ATTEMPT")

_UNFIT = re.compile(r"[^A-Z0-9_]")
_MOST = 256 * 1024  # bytes of metadata in all; the system refuses to start a command with far more


def environment(
    base: Mapping[bytes, bytes], *, message: Message, claim: Claim, exchange: str, worker: str
) -> dict[bytes, bytes]:
    """Return the environment for the command that works on a message.

    It is the base, without what a surrounding worker may have put there about a message of its own.
    """
    about = {
        "PRLOOM_MESSAGE_ID": message.id,
        "PRLOOM_TOPIC": message.topic,
        "PRLOOM_CONVERSATION_ID": message.conversation_id,
        "PRLOOM_ATTEMPT": str(claim.attempt),
        EXCHANGE: exchange,
        WORKER: worker,
    }
    kept = {name: value for name, value in base.items() if not name.startswith(META.encode())}
    return kept | {name.encode(): os.fsencode(value) for name, value in (about | metadata(message.metadata)).items()}


def metadata(given: Metadata) -> dict[str, str]:
    """Return metadata as variables: `plugin-name` as PRLOOM_META_PLUGIN_NAME; of two with one name the first counts.

    Texts of more than 16,384 characters are cut, with a note, and what would be too much in all is left out.
    """
    found: dict[str, str] = {}
    room = _MOST
    for key, value in given.items():
        name = META + _UNFIT.sub("_", key.upper())
        text = _text(value)
        room -= len(name) + len(text.encode())
        if room >= 0:
            found.setdefault(name, text)
    return found


def _text(value: Scalar) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    return command_result.bounded(str(value).replace("\0", "\ufffd"))
