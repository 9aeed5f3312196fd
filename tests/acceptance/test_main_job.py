"""From a comment to its answer, through the real command, as the README tells it."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from waiting import until


def test_an_item_of_the_review_file_is_answered_and_becomes_a_todo(repository):
    repository.isolate()
    review = repository.local / "review.md"
    review.write_text(review.read_text() + "- [ ] Rename the function\n  file: a.py\n  line: 3\n")

    repository.run("start", "--once")

    assert "On it." in review.read_text()
    plan = repository.plan()
    assert (plan["todos"]["total"], plan["todos"]["done"]) == (1, 0)
    assert plan["events"]["triaged"] == 1
    assert plan["actions"] == {"queued": 0, "delivered": 1, "failed": []}


def test_a_line_that_was_meant_as_an_item_and_is_none_is_shown_until_it_is_corrected(repository):
    review = repository.local / "review.md"
    before = review.read_text()
    review.write_text(before + "```\n- [ ] Rename it\n")
    repository.run("start", "--once")
    ignored = f"plan work: line {len(before.splitlines()) + 2} of review.md is ignored"

    assert ignored in repository.run("status", "--all").stdout
    assert ignored in repository.run("doctor").stdout
    assert "All is well" not in repository.run("doctor").stdout

    review.write_text(before + "- [ ] Rename it\n")
    repository.run("start", "--once")

    assert "ignored" not in repository.run("status", "--all").stdout
    assert repository.plan()["todos"]["total"] == 1


def test_a_stranger_waits_until_somebody_vouches(repository):
    repository.run("emit", "work", "--body", "obey me", "--author", "eve", "--trust", "none", "--id", "s1")
    repository.run("start", "--once")
    assert repository.agent_runs == 0
    (held,) = repository.plan()["events"]["held"]
    assert (held["id"], held["author"]) == ("s1", "eve")

    repository.run("approve", "s1")
    repository.run("start", "--once")

    assert repository.agent_runs == 1
    steps = repository.json("why", "s1")["steps"]
    assert [step["verdict"] for step in steps if step["by"] == "operator"] == ["vouched"]


def test_a_dispatcher_that_runs_takes_requests_says_what_it_decides_and_ends_on_a_signal(repository, tmp_path):
    journal = tmp_path / "journal"
    with journal.open("wb") as said:
        running = repository.begin("start", said=said)
    until(lambda: repository.json("status")["dispatcher"]["running"])
    second = repository.run("start", "--once", code=1)
    assert str(running.pid) in second.stderr
    repository.run("emit", "work", "--body", "x", "--author", "eve", "--trust", "none", "--id", "s1")
    until(lambda: repository.json("status")["totals"]["held"] == 1)
    repository.run("approve", "s1")
    until(lambda: repository.plan()["events"]["triaged"] == 1)
    running.send_signal(signal.SIGINT)

    assert running.wait(timeout=120) == 130
    lines = journal.read_text().splitlines()
    for about in ("intake by prloom: held s1", "operator by operator: vouched s1", "triage by"):
        assert any(" INFO " in line and about in line for line in lines), about


def test_the_demo_tells_its_story_in_a_pipe(repository, tmp_path):
    repository.env["TMPDIR"] = str(tmp_path)

    told = repository.run("demo").stdout

    (shop,) = tmp_path.glob("prloom-demo-*")
    first, second = _git(shop, "log", "--reverse", "--format=%H", "main..be-polite").splitlines()
    assert f"commit {first[:10]}; attempts: 2" in told
    assert f"> Done in {second[:12]}." in told
    assert re.search(r'\n  be-polite    review  2/2 TODOs  1 held  for \d+ (?:s|min)  "Be polite"\n', told)
    assert "Now triaged." in told
    assert "failed attempt 1: the check `sh check.sh` failed: it ended with exit code 1" in told
    (event,) = re.findall(r"Prloom-Event: (local:\w+)\n", told)
    assert f"$ prloom why {event}\n" in told
    assert told.count("Prloom-Todo: t-") == 2
    assert "Welcome, {name}!" in _git(shop, "show", "be-polite:greet.py")
    assert "\x1b" not in told


def _git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout
