"""What an agent prints on another machine reaches the run's folder here: in order, once, and whoever begins anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from prloom.agents import run_folder, run_message
from prloom.core.text.secret_scan import SecretMask
from prloom.engine.machine.output_messages import OutputMessages
from prloom.engine.runs import live_output, records
from prloom.engine.runs.live_output import LiveOutput
from prloom.errors import UnsafePathError
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.message import Message
from prloom.storage import paths

TOPIC = "agent.worker"
SECRET = "the-token-of-this-machine"


class TwoMachines:
    """A run's folder here, one on another machine, and the exchange between them."""

    def __init__(self, folder: Path) -> None:
        self.here = folder.joinpath("here", *paths.LOCAL, paths.RUNS, "run-1")
        self.there = folder / "there"
        for each in (self.here, self.there):
            each.mkdir(parents=True)
        self.exchange = Exchange(MemoryStore())
        self.run = self.exchange.publish(TOPIC, "{}")
        self.claim()

    def claim(self) -> None:
        """Let a worker begin, with a folder in which nothing is."""
        for file in self.there.iterdir():
            file.unlink()
        claimed = self.exchange.claim(TOPIC, lease=timedelta(minutes=1))
        assert claimed is not None
        self.claimed = claimed
        self.messages = OutputMessages(self.exchange.store, claimed, self.there, SecretMask({"A_TOKEN": SECRET}))

    def start(self) -> None:
        (self.there / run_folder.SUPERVISOR).write_text("{}")

    def prints(self, text: str) -> None:
        with (self.there / run_folder.OUTPUT).open("a") as file:
            file.write(text)

    def published(self) -> list[Message]:
        """Publish all that can be, and return what was published so far."""
        while self.messages.publish_next():
            pass
        return [each for each in self.exchange.read(conversation=self.run.conversation_id) if each.id != self.run.id]

    def taken(self, output: LiveOutput | None = None) -> str:
        """Let the dispatcher take in all that was published, and return the output that it then has."""
        output = output or LiveOutput(self.here, self.run)
        for message in self.published():
            output.take(message)
        return self.output()

    def output(self) -> str:
        return (run_folder.read(self.here, run_folder.OUTPUT) or b"").decode()


@pytest.fixture
def machines(tmp_path: Path) -> TwoMachines:
    return TwoMachines(tmp_path)


def test_nothing_is_published_before_the_program_has_started(machines: TwoMachines) -> None:
    assert machines.published() == []
    machines.start()
    assert len(machines.published()) == 1
    assert len(machines.published()) == 1
    assert machines.taken() == ""
    assert run_folder.read(machines.here, run_folder.ELSEWHERE)


def test_whole_lines_come_in_order_and_without_the_secrets_of_the_machine(machines: TwoMachines) -> None:
    machines.start()
    machines.prints("one\nhalf")
    assert machines.taken() == "one\n"
    machines.prints(f" of {SECRET} ä\n")
    found = machines.taken()

    assert found.startswith("one\nhalf of ")
    assert SECRET not in found
    assert found.endswith(" ä\n")
    assert SECRET not in "".join(run_message.unpacked_output(message.body).decode() for message in machines.published())


def test_after_a_restart_what_is_there_already_is_passed_over(machines: TwoMachines) -> None:
    machines.start()
    machines.prints("one\n")
    assert machines.taken() == "one\n"
    machines.prints("two\n")

    assert machines.taken() == machines.taken() == "one\ntwo\n"


def test_the_reply_adds_what_was_missing(machines: TwoMachines) -> None:
    machines.start()
    machines.prints("one\n")
    machines.taken()

    live_output.complete(machines.here, b"one\ntwo")

    assert machines.output() == "one\ntwo"


def test_a_worker_that_begins_anew_is_not_mixed_with_the_first_and_its_output_comes_behind(
    machines: TwoMachines,
) -> None:
    machines.start()
    machines.prints("first\n")
    output = LiveOutput(machines.here, machines.run)
    assert machines.taken(output) == "first\n"
    machines.claimed.release()
    machines.claim()
    machines.start()
    machines.prints("again\n")
    machines.published()
    machines.prints("more\n")

    assert machines.taken(output) == machines.taken() == "first\n"
    live_output.complete(machines.here, b"again\nmore\n")
    assert machines.output() == "first\nagain\nmore\n"


def test_the_latest_machine_on_which_a_program_was_started_is_written_down(machines: TwoMachines) -> None:
    machines.start()
    output = LiveOutput(machines.here, machines.run)
    (piece,) = machines.published()
    output.take(piece)
    metadata = {**piece.metadata, run_message.MACHINE: "m2", run_message.CLAIM: "another"}

    output.take(msgspec.structs.replace(piece, metadata=metadata))

    assert run_folder.read(machines.here, run_folder.ELSEWHERE) == b"m2"
    assert records.build(machines.here, "work", datetime.now(UTC)).machine == "m2"


def test_a_message_of_the_conversation_that_is_no_output_is_passed_over(machines: TwoMachines) -> None:
    machines.start()
    machines.prints("one\n")
    output = LiveOutput(machines.here, machines.run)
    machines.exchange.publish(f"{TOPIC}.note", "a note", parent=machines.run.id)
    (piece,) = (each for each in machines.published() if each.topic == run_message.output_topic(TOPIC))
    other = machines.exchange.publish(piece.topic, piece.body, parent=piece.id, metadata=piece.metadata)

    output.take(other)
    assert machines.output() == ""
    assert machines.taken(output) == "one\n"


def test_no_link_in_the_place_of_the_output_is_followed(machines: TwoMachines, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("")
    (machines.here / run_folder.OUTPUT).symlink_to(tmp_path / "outside")
    machines.start()
    machines.prints("one\n")

    with pytest.raises(UnsafePathError, match="is a symbolic link, and prloom does not use it"):
        machines.taken()
    assert (tmp_path / "outside").read_text() == ""
