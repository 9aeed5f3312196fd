"""Collecting ended child processes."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, signal
from prloom import children

ended, living = os.fork() or os._exit(3), os.fork() or signal.pause()
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
ends = {}
print(children.collect(ends), ends == {ended: 3 << 8})
os.kill(living, signal.SIGKILL)
os.waitid(os.P_PID, living, os.WEXITED | os.WNOWAIT)
print(children.collect(ends), ends[living])
"""


def test_the_ended_children_are_collected_and_a_living_one_is_still_known() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, check=True)

    assert ran.stdout.splitlines() == ["False True", "True 9"]
