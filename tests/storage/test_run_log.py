from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prloom.model.record import Timestamp
from prloom.model.run import RunRecord, RunUsage
from prloom.storage import run_log

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def a_run(number: int = 1, at: datetime = NOW, **more: object) -> RunRecord:
    fields = {
        "id": f"{at:%Y%m%dT%H%M%S}000Z-worker-{number:08x}",
        "plan": "pr-7",
        "stage": "worker",
        "agent": "claude",
        "status": "ok",
        "started_at": Timestamp.of(at),
        "ended_at": Timestamp.of(at + timedelta(minutes=1)),
        "seconds": 60.0,
    }
    return RunRecord(**(fields | more))  # type: ignore[arg-type]


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = a_run(
        todo="t-1",
        model="opus",
        attempt=2,
        usage=RunUsage(input_tokens=5, output_tokens=2, cached_tokens=1),
        cost_usd=0.5,
        error="late",
        machine="m",
    )

    run_log.append(tmp_path, run, NOW)

    assert run_log.of_day(tmp_path, "2026-11-21") == (run,)


def test_runs_are_kept_by_the_day_on_which_they_began_in_utc(tmp_path: Path) -> None:
    late = NOW.replace(hour=23, minute=59)
    for number, at in enumerate((late, NOW, NOW - DAY)):
        run_log.append(tmp_path, a_run(number, at), NOW + DAY)

    assert run_log.days(tmp_path) == ("2026-11-20", "2026-11-21")
    assert [run.started_at for run in run_log.of_day(tmp_path, "2026-11-21")] == [NOW, late]


def test_only_the_days_that_are_asked_for_are_read(tmp_path: Path) -> None:
    run_log.append(tmp_path, a_run(1), NOW)
    old = tmp_path / "prloom" / ".local" / "run-log" / "2026-11-20.jsonl"
    old.mkdir()  # which could not be read

    assert run_log.since(tmp_path, NOW) == (a_run(1),)
    assert run_log.since(tmp_path, NOW + timedelta(seconds=1)) == ()


def test_of_a_run_that_is_there_twice_the_last_line_counts(tmp_path: Path) -> None:
    for status in ("interrupted", "ok"):
        run_log.append(tmp_path, a_run(status=status), NOW)

    assert [run.status for run in run_log.of_day(tmp_path, "2026-11-21")] == ["ok"]


@pytest.mark.parametrize("line", [b"nonsense", b'{"kind": "run", "data": {"id": 7}}', b'{"kind": "other", "data": {}}'])
def test_a_damaged_line_hides_no_other(tmp_path: Path, line: bytes) -> None:
    run_log.append(tmp_path, a_run(1), NOW)
    file = tmp_path / "prloom" / ".local" / "run-log" / "2026-11-21.jsonl"
    file.write_bytes(line + b"\n" + file.read_bytes() + b'{"torn')

    run_log.append(tmp_path, a_run(2), NOW)

    assert [run.id for run in run_log.of_day(tmp_path, "2026-11-21")] == [a_run(1).id, a_run(2).id]


def test_without_a_log_there_are_no_runs(tmp_path: Path) -> None:
    assert run_log.days(tmp_path) == ()
    assert run_log.of_day(tmp_path, "2026-11-21") == ()
