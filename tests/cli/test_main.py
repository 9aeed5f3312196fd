import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import git_folder
import pytest
from all_states import AllStates
from operator_scene import OperatorScene

from prloom import __version__
from prloom.cli import main
from prloom.cli.context import Options
from prloom.cli.lazy import Lazy, LazyGroup
from prloom.errors import ConfigError, PrloomError

PRLOOM = [sys.executable, "-m", "prloom"]


def raising(error: BaseException) -> click.Command:
    """Return a command that fails in this way."""

    def fail() -> None:
        raise error

    return click.Command("boom", callback=fail, params=[click.Option(["-v", "--verbose"], expose_value=False)])


# Finding a command.


@pytest.mark.parametrize("name", main.COMMANDS)
def test_each_command_of_the_table_is_there_and_tells_how_to_use_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(main.cli, [name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: prloom {name} ")


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_prloom_alone_and_help_list_the_commands(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(main.cli, args) == 0

    out = capsys.readouterr().out
    listed = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()]
    assert listed == list(main.COMMANDS)


def test_help_imports_click_and_little_else() -> None:
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, ['--help']);"
        "print(sorted(name for name in sys.modules if name.startswith('prloom')), file=sys.stderr);"
        "print(sorted({'pydantic','rich','asyncio','msgspec','json','logging','pathlib','shutil','tomllib','dataclasses',"
        "'importlib.metadata'} & set(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    ours = ("context", "lazy", "main", "output", "output.terminal")
    names = ["prloom", "prloom.cli", *(f"prloom.cli.{name}" for name in ours), "prloom.errors"]
    assert done.stderr == f"{names}\n[]\n"


@pytest.mark.parametrize("name", [name for name, lazy in main.COMMANDS.items() if not lazy.logs])
def test_a_command_that_is_said_not_to_log_never_does_whatever_there_is_to_show(name: str, tmp_path: Path) -> None:
    git_folder.make(tmp_path / ".git")
    AllStates(OperatorScene(tmp_path, datetime.now(UTC))).write()
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, sys.argv[1:]);"
        "print('logging' in sys.modules, file=sys.stderr)"
    )

    command = [sys.executable, "-c", program, "-C", str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "event-held" in done.stdout
    assert done.stderr == "False\n"


def test_a_command_is_imported_when_it_is_run_and_its_neighbours_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a_lazy_command.py").write_text(
        "import click\ncommand = click.Command('hi', callback=lambda: print('hi'))"
    )
    monkeypatch.syspath_prepend(tmp_path)
    group = LazyGroup(lazy={"hi": Lazy("a_lazy_command", "Greet."), "no": Lazy("a_missing_module", "Fail.")})

    assert main.run(group, ["hi"]) == 0
    assert capsys.readouterr().out == "hi\n"


def test_a_command_without_its_module_is_a_bug_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    group = LazyGroup(lazy={"no": Lazy("a_missing_module", "Fail.")})

    assert main.run(group, ["no"]) == 1
    assert (
        "this is a bug in prloom, not a mistake of yours: ModuleNotFoundError: No module named 'a_missing_module'"
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize(
    "given",
    [{"COMP_LINE": "prloom sta"}, {"COMP_WORDS": "prloom sta", "COMP_CWORD": "1"}],
    ids=["this version's script", "an earlier version's script"],
)
def test_the_shell_completes_commands_without_importing_them(given: Mapping[str, str]) -> None:
    environ = {**os.environ, "_PRLOOM_COMPLETE": "bash_complete", **given}

    done = subprocess.run(PRLOOM, capture_output=True, text=True, check=True, env=environ)

    assert done.stdout == "plain,start\nplain,status\nplain,stats\n"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(main.cli, ["--version"]) == 0
    assert capsys.readouterr().out == f"prloom {__version__}\n"


def test_the_options_before_the_command_reach_it(tmp_path: Path) -> None:
    args = ["-C", str(tmp_path), "--set", "a=1", "--set", "b=2=3"]

    with main.cli.make_context("prloom", args) as ctx:
        main.cli.invoke(ctx)

        assert ctx.obj == Options(str(tmp_path), ("a=1", "b=2=3"), verbose=False)


# Exit codes, and one clear line.

STOPPED = "prloom: stopped by Ctrl-C; nothing more was done\n"
MORE_PROCESSES = "close other programs, or raise the limits that `ulimit -a` shows"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PrloomError("no plan x; see `prloom status`"), 1, "prloom: no plan x; see `prloom status`\n"),
        (ConfigError("a is wrong\nb is wrong"), 1, "prloom: a is wrong\nprloom: b is wrong\n"),
        (PrloomError("bad name \x1b[2J\u202e"), 1, "prloom: bad name \\x1b[2J\\u202e\n"),
        (KeyboardInterrupt(), 130, STOPPED),
        (KeyboardInterrupt("stopped; the next one goes on"), 130, "prloom: stopped; the next one goes on\n"),
        (click.ClickException("no"), 1, "prloom: no\n"),
        (click.Abort(), 1, "prloom: stopped, because there was no answer; nothing more was done\n"),
        (click.UsageError("two plans"), 2, "prloom: two plans. See `prloom --help`.\n"),
        (
            OSError(28, "No space left on device", "/x/events.jsonl"),
            1,
            "prloom: No space left on device (/x/events.jsonl); make room on the disk, and run it again\n",
        ),
        (
            OSError(5, "Input/output error", "/x/runs/1"),
            1,
            "prloom: Input/output error (/x/runs/1); check the disk, and run it again\n",
        ),
        (
            MemoryError(),
            1,
            "prloom: there is not enough memory; close other programs, or give prloom more memory, and run it again\n",
        ),
        (
            RuntimeError("can't start new thread"),
            1,
            f"prloom: no new thread can be started; {MORE_PROCESSES}, and run it again\n",
        ),
        (
            BlockingIOError(11, "Resource temporarily unavailable"),
            1,
            f"prloom: Resource temporarily unavailable; {MORE_PROCESSES}, and run it again\n",
        ),
        (
            ImportError("/x/_core.so: failed to map segment from shared object"),
            1,
            "prloom: there is not enough memory; close other programs, or give prloom more memory, and run it again\n",
        ),
        (
            ExceptionGroup("unhandled errors in a TaskGroup", [PermissionError(13, "Permission denied", "/x")]),
            1,
            "prloom: Permission denied (/x); correct the permissions, and run it again\n",
        ),
        (ExceptionGroup("tasks", [PrloomError("one"), PrloomError("two")]), 1, "prloom: one\nprloom: two\n"),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [PrloomError("one")])]), 1, "prloom: one\n"),
        (BaseExceptionGroup("tasks", [PrloomError("one"), KeyboardInterrupt()]), 130, STOPPED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_a_failure_is_one_clear_line_and_an_exit_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(raising(error), []) == code

    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)


def test_an_interruption_at_a_question_is_an_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    # click makes an Abort of it while the interruption is being handled.
    error = click.Abort()
    error.__context__ = KeyboardInterrupt()

    assert main.run(raising(error), []) == 130
    assert capsys.readouterr().err == STOPPED


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["statuss"], "prloom: no command statuss; did you mean status? See `prloom --help`.\n"),
        (["xyzzy"], "prloom: no command xyzzy. See `prloom --help`.\n"),
        (["evil\x1b[2J"], "prloom: no command evil\\x1b[2J. See `prloom --help`.\n"),
        (
            ["--set", "x"],
            "prloom: Invalid value for '--set': x does not set a key; write KEY=VALUE. See `prloom --help`.\n",
        ),
        (
            ["-C", "/no/such/folder"],
            (
                "prloom: Invalid value for '-C' / '--repo': Directory '/no/such/folder' does not exist. "
                "See `prloom --help`.\n"
            ),
        ),
    ],
)
def test_a_usage_error_says_where_to_look(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(main.cli, args) == 2

    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)


def test_a_command_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    group = click.Group("plugins", commands=[click.Command("list", short_help="List them.")])

    assert main.run(group, []) == 2
    assert "list  List them." in capsys.readouterr().err


# A bug.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tracebacks are kept in a test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("PRLOOM_TRACEBACK", raising=False)
    return tmp_path


def test_a_bug_says_that_it_is_one_and_keeps_its_traceback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(raising(ValueError("odd \x1b")), []) == 1

    (kept,) = folder.iterdir()
    assert capsys.readouterr().err == (
        "prloom: this is a bug in prloom, not a mistake of yours: ValueError: odd \\x1b "
        f"({_place(kept)}); please report it with the traceback in {kept} (PRLOOM_TRACEBACK=1 shows it here)\n"
    )
    assert "Traceback (most recent call last)" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def _place(kept: Path) -> str:
    ours = [line for line in kept.read_text().splitlines() if "/prloom/cli/" in line][-1]
    file, _, line = ours.partition(", line ")
    return f"prloom/cli/{file.rpartition('/')[2].rstrip(chr(34))}:{line.split(',')[0]}"


def test_a_bug_is_placed_in_prloom_also_where_another_folder_has_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(folder / "prloom" / "tool.py")
    names: dict[str, Any] = {}
    exec(compile("def boom():\n    raise ValueError('odd')\n", other, "exec"), names)

    assert main.run(click.Command("boom", callback=names["boom"]), []) == 1
    assert "ValueError: odd (prloom/cli/main.py:" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["-v"], ["--verbose"]])
def test_a_bug_shows_its_traceback_to_who_asks(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    boom = click.Command(
        "boom", params=[click.Option(["-v", "--verbose"], is_flag=True)], callback=lambda verbose: 1 / 0
    )

    assert main.run(boom, args) == 1

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "please report it with the traceback above" in lines[-1]
    assert list(folder.iterdir()) == []


def test_a_variable_shows_the_traceback_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRLOOM_TRACEBACK", "1")

    main.run(raising(ValueError("odd")), [])

    assert capsys.readouterr().err.startswith("Traceback (most recent call last):")


def test_a_bug_beside_a_foreseen_failure_is_not_hidden_by_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(raising(ExceptionGroup("tasks", [PrloomError("one"), KeyError("two")])), []) == 1
    assert "a bug in prloom" in capsys.readouterr().err


def test_a_pipe_that_broke_elsewhere_is_not_taken_for_a_reader_who_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(raising(BrokenPipeError()), []) == 1
    assert "this is a bug in prloom, not a mistake of yours: BrokenPipeError" in capsys.readouterr().err


# The process.


PRINTS_UNFLUSHED = (
    "import click; from prloom.cli import main;"
    "raise SystemExit(main.run(click.Command('x', callback=lambda: print('x')), []))"
)


@pytest.mark.parametrize("program", [[*PRLOOM, "--help"], [sys.executable, "-c", PRINTS_UNFLUSHED]])
def test_a_reader_who_left_is_no_error_to_talk_about(program: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=buffered)

    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


INTERRUPTED_WHILE_IT_IMPORTS = """
import sys, weakref
from prloom.__main__ import main
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            {interrupt}
sys.meta_path.insert(0, Finder())
sys.argv = ["prloom", "status"]
main()
"""
LOST_IN_A_CALLBACK = """
            def lose(_):
                raise KeyboardInterrupt
            thing = type("Thing", (), {})()
            watched = weakref.ref(thing, lose)
            del thing
"""


@pytest.mark.parametrize("name", ["click", "prloom.cli.status", "prloom.engine.views.status"])
@pytest.mark.parametrize("interrupt", ["raise KeyboardInterrupt", LOST_IN_A_CALLBACK.strip()], ids=["raised", "lost"])
def test_ctrl_c_while_something_is_imported_is_one_clear_line(name: str, interrupt: str) -> None:
    program = INTERRUPTED_WHILE_IT_IMPORTS.format(name=name, interrupt=interrupt)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", STOPPED)


@pytest.mark.parametrize("args", [["status"], ["emit", "pr-1", "--body", "x"]])
def test_a_folder_that_was_removed_is_one_clear_line(args: list[str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leave = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    program = f"{leave}; from prloom.__main__ import main; sys.argv = ['prloom', *{args!r}]; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    said = "prloom: the current folder was removed; change to another one, and run it again\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_stdout_is_one_clear_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PRLOOM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (
        1,
        "prloom: No space left on device; make room on the disk, and run it again\n",
    )


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stdin_stdout_or_stderr_is_an_empty_one_and_no_files_place(
    closed: tuple[int, ...], tmp_path: Path
) -> None:
    """What is opened next would get its number, and be written into."""

    def close() -> None:
        for number in closed:
            os.close(number)

    asked = [*PRLOOM, "exchange", "publish", "jobs", "--database", str(tmp_path / "jobs.db")]
    done = subprocess.run(asked, capture_output=True, check=False, stdin=subprocess.DEVNULL, preexec_fn=close)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_narrow_locale_cannot_make_output_fail() -> None:
    program = (
        "import sys, click; from prloom.cli import main;"
        "sys.exit(main.run(click.Command('x', callback=lambda: click.echo('→ ü')), []))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="latin-1",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1:strict"},
    )

    assert (done.returncode, done.stdout) == (0, "\\u2192 ü\n")
