"""Keep what an agent prints on another machine in the run's folder here, while the run goes on."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from prloom.agents import run_folder, run_message
from prloom.core.text import naming
from prloom.errors import AgentError, StorageError
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.errors import ExchangeError
from prloom.exchange.message import Message
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

LONGEST_NAME = 100
"""Characters of the name of a machine."""

_LONGEST_PIECE: Final = 2 * run_message.LONGEST_OUTPUT
"""Bytes of a message with a piece, in base64; what is longer is none."""


async def follow(exchange: AsyncExchange, folder: Path, run: Message) -> None:
    """Append each piece of a run's output as it comes, until this is cancelled; the reply has all that is missing."""
    output = LiveOutput(folder, run)
    try:
        pieces = exchange.follow(conversation=run.conversation_id, since=run.id, longest_body=_LONGEST_PIECE)
        async for message in pieces:
            output.take(message)  # in no thread: one that is cancelled would go on, and write after the reply
    except (ExchangeError, AgentError, StorageError) as error:
        log.info("run %s: the rest of what it prints is shown when it is over: %s", folder.name, error)


class LiveOutput:
    """The output of one run. Pieces that are there already, as after a restart, are passed over.

    Only the first worker that has begun is followed. If it dies and another one begins anew, the reply has its output.
    """

    def __init__(self, folder: Path, run: Message) -> None:
        self._folder = folder
        self._run = run
        self._claim: object = None

    def take(self, message: Message) -> None:
        """Append the piece that a message of the run's conversation holds, if it does and is the next one.

        Raises AgentError where it holds no output, and StorageError where that cannot be written.
        """
        if message.parent_id != self._run.id or message.topic != run_message.output_topic(self._run.topic):
            return
        claim, offset = message.metadata.get(run_message.CLAIM), message.metadata.get(run_message.OFFSET)
        self._claim = self._claim or claim
        piece = run_message.unpacked_output(message.body)
        root, parts = paths.of_run(self._folder)
        folder = SafeDir.open(root, *parts)
        if folder is None:
            return
        with folder:
            _note_machine(folder, message)
            if claim != self._claim:
                return
            present = folder.stat(run_folder.OUTPUT)
            size = present.st_size if present is not None else 0
            if offset == size and size + len(piece) <= run_message.LONGEST_OUTPUT:
                _append(folder, piece)


def complete(folder: Path, output: bytes) -> None:
    """Write down the whole output of a run that is over; raises OSError.

    What was taken in before stays where it is. The output of another worker, which has begun anew, comes behind it.
    """
    present = run_folder.read(folder, run_folder.OUTPUT, run_message.LONGEST_OUTPUT) or b""
    if not output.startswith(present):
        output = present + output
    run_folder.replace(folder, run_folder.OUTPUT, output)


def _note_machine(folder: SafeDir, message: Message) -> None:
    """Write down that the program has been started, and on which machine; after another one, on this one."""
    machine = naming.printable(str(message.metadata.get(run_message.MACHINE)), LONGEST_NAME).encode("utf-8", "replace")
    if folder.read_bytes(run_folder.ELSEWHERE) != machine:
        folder.replace(run_folder.ELSEWHERE, machine)


def _append(folder: SafeDir, piece: bytes) -> None:
    fd = folder.open_to_append(run_folder.OUTPUT)
    try:
        with open(fd, "ab", closefd=False) as file:
            file.write(piece)
    except OSError as error:
        raise StorageError(f"{folder.where(run_folder.OUTPUT)} cannot be written: {error.strerror}") from error
    finally:
        os.close(fd)
