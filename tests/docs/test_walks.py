"""Whoever follows a document in an empty folder sees what it says."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any


def test_a_reader_who_follows_the_page_sees_what_it_shows(walked: Any, shop: Any):
    if str(walked) == "README.md":
        shop.isolate()
    for block, ran in shop.follow(walked):
        expected = [line for line in block.text.splitlines() if line.strip() and not line.startswith("$ ")]
        missing = [line for line in expected if not _is_in(line, ran.said)]
        refused = any(line.startswith("prloom: ") for line in expected)

        assert missing == [], f"{block}:\n{ran.said}"
        assert refused or ran.code == 0, f"{block}: exit code {ran.code}\n{ran.said}"


def _is_in(line: str, said: str) -> bool:
    """Whether a line was printed; `…` stands for anything, spaces for any number of them."""
    parts = [re.escape(part) for part in " ".join(line.split()).split("…")]
    pattern = re.compile(".*".join(parts) + ".*")
    return any(pattern.fullmatch(" ".join(each.split())) for each in said.splitlines())


def test_the_exit_codes_are_those_of_the_document(shop: Any):
    assert shop.run("prloom init").code == 0
    assert shop.run("prloom status no-such-plan").code == 1
    assert shop.run("prloom adopt").code == 2
    assert shop.run("prloom --no-such-option").code == 2


@contextlib.contextmanager
def started(shop: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a dispatcher in the reader's repository; it has the repository when the body begins."""
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(["prloom", "start"], cwd=shop.folder, env=shop.environ, **pipes) as running:
        try:
            while shop.run("prloom status | grep -q running,").code != 0:
                assert running.poll() is None, running.communicate()[1]
            yield running
        finally:
            running.terminate()


def test_a_second_dispatcher_ends_with_1_and_says_who_is_at_work_and_the_first_one_ends_when_it_is_asked(shop: Any):
    with started(shop) as running:
        second = shop.run("prloom start --once")
        running.terminate()
        code = running.wait(timeout=60)

    assert second.code == 1
    assert f"a dispatcher already runs here: process {running.pid}" in second.said
    assert code == 130


def test_a_dispatcher_that_is_interrupted_ends_with_130(shop: Any):
    with started(shop) as running:
        running.send_signal(signal.SIGINT)
        code = running.wait(timeout=60)

    assert code == 130
