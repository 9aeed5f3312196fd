from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from prloom.engine.plan import repository_context


def test_the_operators_own_words_are_read(tmp_path: Path) -> None:
    (tmp_path / "prloom").mkdir()
    (tmp_path / "prloom/planner.md").write_bytes(b"Use tabs.\r\nAnd \xff.\n")

    assert repository_context.read(tmp_path, "planner.md") == "Use tabs.\nAnd \ufffd.\n"


def test_without_a_file_there_are_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert repository_context.read(tmp_path, "planner.md") is None
    assert caplog.messages == []


def test_a_pipe_in_the_place_of_the_file_is_reported_and_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "prloom").mkdir()
    file = tmp_path / "prloom/worker.md"
    os.mkfifo(file)

    with caplog.at_level(logging.WARNING):
        assert repository_context.read(tmp_path, "worker.md") is None

    assert caplog.messages == [f"{file} cannot be read: It is not a regular file; agents run without it"]
