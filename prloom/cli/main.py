"""The entry point: find the command, run it, and turn whatever went wrong into one clear line and an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from io import TextIOWrapper
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NoReturn

import click

from prloom import __version__, errors
from prloom.cli.context import Options
from prloom.cli.lazy import Lazy, LazyGroup
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


COMMANDS: Mapping[str, Lazy] = {
    "init": Lazy("prloom.cli.init", "Write prloom.toml and keep prloom's own files out of git."),
    "adopt": Lazy("prloom.cli.adopt", "Look after an existing pull request or branch."),
    "new": Lazy("prloom.cli.new", "Write a new plan, as a draft."),
    "edit": Lazy("prloom.cli.edit", "Change a draft or a plan in your editor."),
    "queue": Lazy("prloom.cli.queue", "Hand drafts to the dispatcher."),
    "todo": Lazy("prloom.cli.todo", "List the TODOs of a plan, or change one."),
    "start": Lazy("prloom.cli.start", "Run the dispatcher."),
    "worker": Lazy("prloom.cli.worker", "Run agents for a dispatcher on another machine."),
    "status": Lazy("prloom.cli.status", "Show what is waiting, and why.", logs=False),
    "top": Lazy("prloom.cli.top", "Show the status on a full screen, and act on it with keys."),
    "web": Lazy("prloom.cli.web", "Show everything in a browser, and take your actions there."),
    "events": Lazy("prloom.cli.events", "List events and their states."),
    "why": Lazy("prloom.cli.why", "Show the complete history of an event."),
    "diff": Lazy("prloom.cli.diff", "Show what was changed for a plan or a TODO."),
    "runs": Lazy("prloom.cli.runs", "List the runs of agents and their results."),
    "log": Lazy("prloom.cli.log", "Show what happens in all plans, as it happens."),
    "logs": Lazy("prloom.cli.logs", "Show what an agent says and does."),
    "stop": Lazy("prloom.cli.stop", "End a run of an agent, and pause its plan."),
    "costs": Lazy("prloom.cli.costs", "Add up what agents took: time, tokens and cost."),
    "stats": Lazy("prloom.cli.stats", "Show the throughput, waits, slow plugins and failures."),
    "emit": Lazy("prloom.cli.emit", "Append an event by hand."),
    "retry": Lazy("prloom.cli.retry", "Make waiting events due now."),
    "approve": Lazy("prloom.cli.approve", "Approve held events."),
    "allow": Lazy("prloom.cli.allow", "Allow the call of a tool that waits for you.", "allow"),
    "deny": Lazy("prloom.cli.allow", "Deny the call of a tool that waits for you.", "deny"),
    "drop": Lazy("prloom.cli.drop", "Drop events permanently, with a reason."),
    "outbox": Lazy("prloom.cli.outbox", "List the replies that wait for you; send, edit or drop them."),
    "forget": Lazy("prloom.cli.forget", "Stop looking after a pull request or branch."),
    "poll": Lazy("prloom.cli.poll", "Poll the sources for feedback now."),
    "pause": Lazy("prloom.cli.pause", "Stop the work on a plan, or on all.", "pause"),
    "resume": Lazy("prloom.cli.pause", "Resume the work on a plan, or on all.", "resume"),
    "block": Lazy("prloom.cli.block", "Stop the work on a plan's TODOs, with a reason.", "block"),
    "unblock": Lazy("prloom.cli.block", "Let the TODOs of a blocked plan be worked on again.", "unblock"),
    "open": Lazy("prloom.cli.open", "Open a shell, or the agent, in a plan's worktree."),
    "sandbox": Lazy("prloom.cli.sandbox", "Run a command as a worker of a plan would be run."),
    "rebase": Lazy("prloom.cli.rebase", "Rebase a plan's branch onto its base."),
    "plugins": Lazy("prloom.cli.plugins", "List, enable, disable, create and test plugins."),
    "action": Lazy("prloom.cli.action", "Run an action of a plugin's daemon."),
    "skills": Lazy("prloom.cli.skills", "List the skills that plugins offer to agents."),
    "bridges": Lazy("prloom.cli.bridges", "List the bridges."),
    "mcp": Lazy("prloom.cli.mcp", "Serve prloom to agents over MCP."),
    "exchange": Lazy("prloom.cli.exchange", "A durable queue of messages and claims, for any program."),
    "config": Lazy("prloom.cli.config", "Show the configuration that is in effect, and where it comes from."),
    "doctor": Lazy("prloom.cli.doctor", "Find problems, and show how to fix them."),
    "completion": Lazy("prloom.cli.completion", "Print the completion of bash, zsh or fish."),
    "demo": Lazy("prloom.cli.demo", "See prloom at work on a temporary repository."),
    "help": Lazy("prloom.cli.help", "Show the help of a command."),
}

_WIDEST_HELP = 100
_USAGE = 2
_INTERRUPTED = 130
_STOPPED = "stopped by Ctrl-C; nothing more was done"
COMPLETION = "_PRLOOM_COMPLETE"


def _key_and_value(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for override in given:
        if "=" not in override:
            raise click.BadParameter(f"{override} does not set a key; write KEY=VALUE", ctx, param)
    return given


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-C",
    "--repo",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    metavar="PATH",
    help="The repository; by default, the one that contains the current folder.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_key_and_value,
    help="Override a key of prloom.toml, such as dispatcher.tick_interval=5s; may be repeated.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what prloom does to stderr, and show the traceback of a bug.")
@click.version_option(__version__, message="prloom %(version)s")
@click.pass_context
def cli(ctx: click.Context, directory: str, overrides: tuple[str, ...], *, verbose: bool) -> None:
    """Look after the pull requests of a repository with plugins and coding agents."""
    ctx.obj = Options(directory, overrides, verbose)
    ctx.color = terminal.wants_colour(os.environ)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        return
    if verbose or COMMANDS[ctx.invoked_subcommand].logs:
        from prloom.cli.output import log_output  # noqa: PLC0415 - `prloom --help` needs none

        log_output.to_stderr("DEBUG" if verbose else "WARNING")


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    if COMPLETION in os.environ:
        from prloom.cli import bash_completion  # noqa: F401, PLC0415 - which replaces click's own for bash

        cli.main(prog_name="prloom")
    try:
        _open_what_is_closed()
        code = run(cli, sys.argv[1:])
    except KeyboardInterrupt:  # once more, while the first was being told
        code = _INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but Python's own end, which would show a traceback
    gc.freeze()  # and which would look for garbage in all that was imported: a tenth of the time of `prloom status`
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Have stdin, stdout and stderr be there; else the next file that is opened takes their number, and what we say."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, number)
            if nothing != number:
                os.close(nothing)
            os.set_inheritable(number, True)  # noqa: FBT003 (it takes no keyword)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115 (of the whole process)


def run(command: click.Command, args: Sequence[str]) -> int:
    """Run a command line and return its exit code: 0 done, 1 failed, 2 usage, 130 interrupted.

    What failed has been told on stderr by then: what, where, what now.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a narrow locale must not turn a comment into a crash
    try:
        code = _invoke(command, args)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:  # noqa: BLE001 - the one place that tells people about any failure
        is_verbose = not {"-v", "--verbose"}.isdisjoint(args)
        return _report_error(error, verbose=is_verbose, as_json=_logs_json(args))
    return code


def _invoke(command: click.Command, args: Sequence[str]) -> int:
    try:
        # Told its width, click has no need to import shutil for it, which is a tenth of `prloom --help`.
        with command.make_context("prloom", list(args), terminal_width=min(terminal.width(), _WIDEST_HELP)) as ctx:
            command.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return 0


def _logs_json(args: Sequence[str]) -> bool:
    """Whether `prloom start` was told to log JSON, also where it could not begin."""
    return "--log-format=json" in args or ("--log-format", "json") in pairwise(args)


def _report_error(error: BaseException, *, verbose: bool, as_json: bool) -> int:
    """Say on stderr what happened and return the exit code."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click 8.2 and later
        click.echo(str(error), err=True)
        return _USAGE
    if isinstance(error, BrokenPipeError) and _stdout_is_closed():
        _spill()  # the reader has seen enough
        return 1
    told = _for_people(error)
    if told is None:
        from prloom.cli import crash_report  # noqa: PLC0415 - only a bug needs it

        return crash_report.report(error, on_screen=verbose, as_json=as_json)
    if isinstance(error, OSError):  # it may have been stdout that the machine refused
        _spill()
    text, code = told
    from prloom.cli.output import log_output  # noqa: PLC0415 - only a failure needs it

    level: Literal["ERROR", "WARNING"] = "ERROR"
    if code == _INTERRUPTED:
        level = "WARNING"
    for line in text.split("\n"):
        log_output.print_failure(line, as_json=as_json, level=level)
    return code


def _spill() -> None:
    """Let what stdout still holds go somewhere, or Python complains as it exits, with an exit code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _for_people(error: BaseException) -> tuple[str, int] | None:
    """Return the words and the exit code of a failure that was foreseen, or None."""
    match error:
        case BaseExceptionGroup():
            told = _together(error)
        case click.UsageError():
            told = _usage(error), _USAGE
        case click.ClickException():
            told = error.format_message(), error.exit_code
        case KeyboardInterrupt():  # a command that knows what goes on later says so
            told = str(error) or _STOPPED, _INTERRUPTED
        case click.Abort() if isinstance(error.__context__, KeyboardInterrupt):
            told = _STOPPED, _INTERRUPTED
        case click.Abort():
            told = "stopped, because there was no answer; nothing more was done", 1
        case FileNotFoundError() if _is_folder_gone():
            told = "the current folder was removed; change to another one, and run it again", 1
        case _:
            explained = errors.explain(error)
            again = ", and run it again"
            if isinstance(error, errors.PrloomError):
                again = ""
            if explained is None:
                told = None
            else:
                told = (f"{explained}{again}", 1)
    return told


def _is_folder_gone() -> bool:
    """Whether the folder in which prloom was started is not there any more."""
    try:
        os.getcwd()  # noqa: PTH109 - `prloom --help` needs no pathlib
    except FileNotFoundError:
        return True
    return False


def _together(group: BaseExceptionGroup[BaseException]) -> tuple[str, int] | None:
    """Return what ended a group of tasks: an interruption, or else all that is for people; None if there is a bug."""
    told = [_for_people(error) for error in errors.leaves(group)]
    interruption = next((each for each in told if each is not None and each[1] == _INTERRUPTED), None)
    if interruption is not None:
        return interruption
    lines = dict.fromkeys(each[0] for each in told if each)
    if None in told:
        return None
    return ("\n".join(lines), 1)


def _usage(error: click.UsageError) -> str:
    message = " ".join(error.format_message().split())
    stop = "."
    if message.endswith((".", "?", "!")):
        stop = ""
    hint = ""
    if error.ctx:
        hint = f" See `{error.ctx.command_path} --help`."
    return f"{message}{stop}{hint}"


def _stdout_is_closed() -> bool:
    """Whether it was our stdout that broke, and not a pipe to some other process."""
    from select import POLLERR, POLLHUP, poll  # noqa: PLC0415 - only a broken pipe needs it

    try:
        watch = poll()
        watch.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # a stdout without a file, as in tests
        return False
    return any(happened & (POLLERR | POLLHUP) for _, happened in watch.poll(0))
