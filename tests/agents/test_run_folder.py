"""The folder of a run, read as if an agent had been at it."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prloom.agents import run_folder, run_spec
from prloom.agents.agent import RunResult, TokenUsage
from prloom.agents.run_folder import ProcessExit
from prloom.errors import AgentError

NOW = datetime(2026, 11, 21, 12, 30, 20, 123456, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    run_folder.create(path, {})
    return path


def test_ids_of_runs_sort_by_time() -> None:
    ids = [run_spec.new_id(NOW + timedelta(milliseconds=step), "triage") for step in (0, 1, 10, 1000, 10**6)]

    assert ids == sorted(ids)


def test_ids_of_one_moment_are_unique() -> None:
    assert len({run_spec.new_id(NOW, "triage") for _ in range(500)}) == 500


def test_an_id_is_a_safe_name_whatever_the_stage_is_called() -> None:
    run = run_spec.new_id(NOW, "../Trïage 2\n")

    assert run.startswith("20261121T123020123Z-Trage2-")
    assert run.replace("-", "").isalnum()


def test_a_folder_that_is_there_already_is_refused(folder: Path) -> None:
    with pytest.raises(AgentError, match=r"the run's folder .* cannot be made \(File exists\)"):
        run_folder.create(folder, {})


def test_a_run_begins_with_the_files_that_it_needs(tmp_path: Path) -> None:
    run_folder.create(tmp_path / "run", {"prompt.md": b"Do it.", "message.json": b"{}"})

    found = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert found == {"prompt.md": b"Do it.", "message.json": b"{}"}


def test_a_run_without_one_of_its_files_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"run r could not be started in .*/r: No such file or directory; check the"):
        run_folder.create(tmp_path / "r", {"missing/prompt.md": b"Do it."})


def test_files_are_for_the_operator_alone(folder: Path) -> None:
    run_folder.write_new(folder, "prompt.md", b"secret")
    run_folder.replace(folder, "result.json", b"{}")

    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (modes, stat.S_IMODE(folder.stat().st_mode)) == ({0o600}, 0o700)


def test_a_new_file_is_never_written_through_what_is_in_its_place(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "outside"
    (folder / "output.jsonl").symlink_to(target)

    with pytest.raises(FileExistsError):
        run_folder.write_new(folder, "output.jsonl", b"text")

    assert not target.exists()


def test_a_replaced_file_does_not_touch_what_a_link_in_its_place_leads_to(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "outside"
    target.write_bytes(b"precious")
    (folder / "exit.json").symlink_to(target)

    run_folder.replace(folder, "exit.json", b"new")

    assert (target.read_bytes(), (folder / "exit.json").read_bytes()) == (b"precious", b"new")


def test_nothing_is_read_through_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "answer.json").symlink_to(tmp_path / "secret")
    (tmp_path / "linked").symlink_to(folder)
    run_folder.write_new(folder, "prompt.md", b"text")

    assert run_folder.read_answer(folder) is None
    assert run_folder.read(tmp_path / "linked", "prompt.md") is None


def test_only_an_ordinary_file_is_read(folder: Path) -> None:
    os.mkfifo(folder / "answer.json")
    (folder / "result.json").mkdir()

    assert run_folder.read_answer(folder) is None
    assert run_folder.read_result(folder) is None


def test_an_answer_beyond_the_limit_is_none(folder: Path) -> None:
    with (folder / "answer.json").open("wb") as file:
        file.truncate(run_folder.SMALL + 1)

    assert run_folder.read_answer(folder) is None


def test_a_file_is_read_up_to_its_limit_from_either_end(folder: Path) -> None:
    run_folder.write_new(folder, "stderr.log", b"0123456789")

    assert run_folder.read(folder, "stderr.log", 3) == b"012"
    assert run_folder.read_end(folder, "stderr.log", 3) == b"789"
    assert run_folder.read_end(folder, "stderr.log", 30) == b"0123456789"


def test_a_result_comes_back_as_it_was_written(folder: Path) -> None:
    usage = TokenUsage(input_tokens=1, output_tokens=2, cached_tokens=0)
    result = RunResult(status="limited", trouble="usage_limit", error="limit", retry_at=NOW, usage=usage, cost_usd=0.5)

    run_folder.write_result(folder, result)

    assert run_folder.read_result(folder) == result


@pytest.mark.parametrize("character", ["x", "\x01", "\U0001f600"])
def test_a_result_with_a_very_long_message_comes_back_with_its_beginning(folder: Path, character: str) -> None:
    run_folder.write_result(folder, RunResult(status="ok", message=character * 2_000_000, turns=3))

    read = run_folder.read_result(folder)
    assert read is not None
    assert (read.status, read.turns) == ("ok", 3)
    assert read.message == f"{character * (len(read.message) - 1)}…"
    assert (folder / "result.json").stat().st_size < run_folder.SMALL


def test_a_long_result_of_an_earlier_prloom_is_read(folder: Path) -> None:
    result = RunResult(status="ok", message="x" * 2_000_000)
    run_folder.write_new(folder, "result.json", run_folder.encode(result))

    assert run_folder.read_result(folder) == result


def test_what_was_not_measured_is_null_in_the_file(folder: Path) -> None:
    run_folder.write_result(folder, RunResult(status="ok", message="Done."))

    written = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert (written["usage"], written["costUsd"], written["sessionId"]) == (None, None, None)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"code": "0"}', b"\xff"])
def test_a_file_of_another_form_is_none(folder: Path, content: bytes) -> None:
    run_folder.write_new(folder, "exit.json", content)

    assert run_folder.load(folder, "exit.json", ProcessExit) is None


def test_a_failed_replacement_leaves_the_old_content_and_no_rest(folder: Path) -> None:
    (folder / "result.json").mkdir()

    with pytest.raises(OSError, match="directory"):
        run_folder.replace(folder, "result.json", b"{}")

    assert [path.name for path in folder.iterdir()] == ["result.json"]
