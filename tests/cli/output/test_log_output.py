import json
import subprocess
import sys

PROGRAM = """
import logging, sys
from prloom.cli.output import log_output
log_output.to_stderr("WARNING")
log_output.to_stderr(sys.argv[1])
logging.getLogger("prloom.engine").info("tick %s", "\\x1b[31m\\nforged")
logging.getLogger("prloom_plugins.memory").warning("slow")
logging.getLogger("httpx").info("GET https://user:secret@example.org")
logging.getLogger("httpx").warning("odd")
"""


def told(level: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, level], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_warnings_are_plain_lines_on_stderr_and_come_once() -> None:
    assert told("WARNING") == ["prloom: slow", "prloom: odd"]


def test_lower_levels_tell_time_and_origin_with_control_characters_shown() -> None:
    lines = told("INFO")

    assert lines[0].endswith(r"INFO    prloom.engine: tick \x1b[31m")
    assert lines[1] == "    forged"  # which passes for no line of the log
    assert lines[2].endswith("WARNING prloom_plugins.memory: slow")


def test_what_other_libraries_say_below_warnings_stays_out() -> None:
    assert not any("secret" in line for line in told("DEBUG"))


def test_a_log_goes_where_stderr_is_now() -> None:
    program = (
        "import contextlib, io, logging; from prloom.cli.output import log_output;"
        "away = io.StringIO()\n"
        "with contextlib.redirect_stderr(away): log_output.to_stderr('WARNING')\n"
        "logging.getLogger('prloom').warning('here'); assert away.getvalue() == ''"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr == "prloom: here\n"


def test_a_log_for_a_journal_is_one_json_object_on_each_line_with_no_secret_and_no_control_character() -> None:
    program = (
        "import logging; from prloom.cli.output import log_output; log_output.to_stderr('INFO', as_json=True);"
        "logging.getLogger('prloom.engine').info('tick %s', '\\x1b[31m\\nforged '"
        "'ghp_x7Kq2LmN9pRs4TvW8yZb1CdF3gHj5KlM6nPq')"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    (line,) = done.stderr.splitlines()
    said = json.loads(line)
    assert (said["level"], said["logger"]) == ("INFO", "prloom.engine")
    assert said["message"].startswith("tick \x1b[31m\nforged ")
    assert "x7Kq2LmN9pRs" not in line
    assert "\x1b" not in line


def test_a_line_that_cannot_be_written_leaves_one_line_and_no_traceback() -> None:
    program = """
import logging
from prloom.cli.output import log_output

class TooLarge:
    def __str__(self):
        raise MemoryError

log_output.to_stderr("WARNING")
logging.getLogger("prloom.engine").warning("%s", TooLarge())
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr == (
        "prloom: a log line of prloom.engine could not be written: "
        "there is not enough memory; close other programs, or give prloom more memory\n"
    )


def test_a_decision_is_shown_as_it_happens_with_no_secret_and_the_log_gets_what_it_got_before() -> None:
    program = """
import logging
from prloom.cli.output import log_output
from prloom.core.reports import decision_line
from prloom.core.reports.decision_line import PlanDecision
from prloom.model.decision import Decision, Todo

todo = Todo(id="t-1", title="Use ghp_x7Kq2LmN9pRs4TvW8yZb1CdF3gHj5KlM6nPq")
made = PlanDecision("pr-7", Decision(seq=1, stage="todo", by="x", todos=(todo,)))
log_output.to_stderr("WARNING")
with log_output.decisions(print):
    logging.getLogger(decision_line.LOG).info("%s", made)
logging.getLogger(decision_line.LOG).info("%s", made)
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert line.startswith('pr-7: new TODO "Use ')
    assert "x7Kq2LmN9pRs" not in line
