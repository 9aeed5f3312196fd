"""`prloom plugins test`: run a plugin against events of every shape, and show what it does with each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from prloom.cli import context, input_file
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from prloom.api import Event, Json
    from prloom.cli.plugins.trial_report import PluginTestResult
    from prloom.extensions.discovery import DiscoveredPlugin
    from prloom.extensions.host.interface import PluginHost
    from prloom.testing.runners import Runner
    from prloom.testing.trial import BrokenPromise, Trial


_SUCH_AS = """write an object such as '{"id": 3}'"""


@click.command("test")
@click.argument("plugin")
@click.option("--say", "said", multiple=True, metavar="TEXT", help="Use a comment with this text; may be repeated.")
@click.option("--event", "files", multiple=True, metavar="FILE", help="Use the events of this file (JSON).")
@click.option("--tool", nargs=2, metavar="TOOL JSON", help="Call this tool once with these arguments, a JSON object.")
@click.option("--inline", is_flag=True, help="Run the plugin in this process, so that breakpoint() works.")
@json_option
@pass_options
def command(
    given: Options,
    plugin: str,
    said: tuple[str, ...],
    files: tuple[str, ...],
    *,
    tool: tuple[str, str] | None,
    inline: bool,
    as_json: bool,
) -> None:
    """Run PLUGIN, a name or a path, with events of every kind, and show what it does with each of them.

    It need not be enabled; it gets its settings of prloom.toml. It gets an empty folder instead of the repository, and
    its actions are not carried out. With --say or --event, it gets only these events; without them, the promises of
    `PluginContract` are tried too. With --tool, one of its tools is called as an agent calls it, and nothing else is
    done. The exit code is 1 if it fails, or if it is loaded with a warning.
    """
    found = _found(given, plugin)
    settings, limit = _configured(given, found)
    if inline and found.is_daemon_only:
        raise PrloomError(f"plugin {found.key} has no Python code that could run in this process; leave out --inline")
    if tool is not None:
        if said or files:
            raise click.UsageError("give --tool or events, not both", click.get_current_context())
        _call_tool(found, settings, limit, *tool, inline=inline, as_json=as_json)
        return
    with _prints_to_stderr() if as_json and inline else nullcontext():
        result = _try(found, settings, limit, _events(said, files), chosen=bool(said or files), inline=inline)
    _print(result, as_json=as_json)
    problem = result.problem()
    if problem is not None:
        raise PrloomError(problem)


def _try(
    found: DiscoveredPlugin,
    settings: Mapping[str, Json],
    limit: timedelta,
    events: Mapping[str, Event],
    *,
    chosen: bool,
    inline: bool,
) -> PluginTestResult:
    """Show the events to the plugin, and try its promises where nobody has chosen the events."""
    from dataclasses import replace  # noqa: PLC0415 - see command

    # A debugger and a progress line would write over each other.
    progress = nullcontext(lambda _: None) if inline else terminal.progress(f"trying {found.key}")
    with (
        _at_work(found, settings, limit, inline=inline) as (runner, root),
        progress as label,
        _logs_in_report_only(found.key),
    ):
        result = _tried(found, runner, root, events, label)
        if chosen and found.is_daemon_only and not result.registered.hooks:
            text = f"plugin {found.key} has no hooks, so no event reaches it"
            raise PrloomError(f"{text}; leave out --say and --event to have its daemon tried")
        if not (chosen or inline or result.faults):
            label("the promises")
            result = replace(result, broken=_broken_promises(found, settings))
    return result


def _call_tool(
    found: DiscoveredPlugin,
    settings: Mapping[str, Json],
    limit: timedelta,
    name: str,
    text: str,
    *,
    inline: bool,
    as_json: bool,
) -> None:
    """Call a tool once, and print what an agent gets; raises PrloomError where the call fails."""
    from prloom.cli.plugins.tool_trial import ToolTrial  # noqa: PLC0415 - see command
    from prloom.core.text import one_line  # noqa: PLC0415
    from prloom.model import record  # noqa: PLC0415

    arguments = _arguments(text)
    out = _prints_to_stderr() if inline else nullcontext()
    with _at_work(found, settings, limit, inline=inline) as (runner, root), out:
        result = ToolTrial(found, runner, root, settings=settings, environ=os.environ).call(name, arguments)
    if as_json:
        terminal.echo_json(record.to_builtins(result))
    elif result.success:
        click.echo(terminal.clean_block(result.output))
        if result.data is not None:
            terminal.echo_json_line(result.data)
    if not result.success:
        raise PrloomError(f"tool {name}: {one_line.of(result.error or 'it failed')}")


def _arguments(text: str) -> Mapping[str, Json]:
    from prloom.storage import json_codec  # noqa: PLC0415 - see command

    found = json_codec.decode(text.encode("utf-8", "replace"))
    if isinstance(found, json_codec.Unreadable):
        raise PrloomError(f"the arguments of the tool cannot be used: {found.reason}; {_SUCH_AS}")
    return found


def _tried(
    found: DiscoveredPlugin, runner: Runner, root: Path, events: Mapping[str, Event], label: Callable[[str], None]
) -> PluginTestResult:
    """Start the plugin, and give it each event, all events at once, and the other calls."""
    from prloom.cli.plugins.trial_report import PluginTestResult  # noqa: PLC0415 - see command
    from prloom.testing import runners, trial  # noqa: PLC0415

    with runners.capture(found.key) as log:  # the process asks at its start which of its records are of interest
        registered = runner.start()
    if found.is_daemon_only and not registered.hooks:
        events = {}  # nothing of it would see them
    trials = list(_watched(trial.each_event(runner, events, root), label))
    skipped = len(events) - len(trials)
    batch = None
    if events and not skipped:
        batch = trial.all_events(runner, events, root)
        trials += trial.other_hooks(runner, root)
    return PluginTestResult(found, registered, tuple(log), tuple(trials), batch, skipped)


def _broken_promises(found: DiscoveredPlugin, settings: Mapping[str, Json]) -> tuple[BrokenPromise, ...]:
    """Try the promises of the plugin's code, and those of its daemon."""
    from prloom.extensions import filters  # noqa: PLC0415 - see command
    from prloom.testing import trial  # noqa: PLC0415

    broken: tuple[BrokenPromise, ...] = ()
    if not found.is_daemon_only:
        broken = trial.broken_promises(found, settings, os.environ)
    if filters.runs_daemon(found):
        from prloom.testing import daemon_trial  # noqa: PLC0415 - other plugins do not need it

        broken += daemon_trial.broken_promises(found, settings)
    return broken


def _print(result: PluginTestResult, *, as_json: bool) -> None:
    """Print the report, as a document or as text."""
    from prloom.cli.plugins import trial_report  # noqa: PLC0415 - see command

    if as_json:
        terminal.echo_json(trial_report.document(result))
    else:
        click.echo("\n".join(trial_report.lines(result)))


@contextmanager
def _logs_in_report_only(key: str) -> Iterator[None]:
    """Keep what the plugin logs, which the report shows, from stderr, and what is logged of its daemon's ends."""
    import logging  # noqa: PLC0415 - see command

    from prloom.api.context import plugin_logger  # noqa: PLC0415

    logs = (plugin_logger(key), logging.getLogger("prloom.engine.background"))
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _prints_to_stderr() -> Iterator[None]:
    """Keep what a plugin prints in this process out of the document."""
    import sys  # noqa: PLC0415 - see command
    from contextlib import redirect_stdout  # noqa: PLC0415

    with redirect_stdout(sys.stderr):
        yield


def _found(given: Options, named: str) -> DiscoveredPlugin:
    """Return the plugin of this name, whichever filters it would not pass, or the one at this path."""
    from pathlib import Path  # noqa: PLC0415 - see command

    from prloom.extensions import discovery, keys  # noqa: PLC0415 - see command
    from prloom.testing import runners  # noqa: PLC0415

    places = discovery.plugin_paths(context.root_or_folder(given), os.environ)
    known = {each.key: each for each in discovery.discover(places)}
    key = keys.resolve(named, known)
    if key is not None:
        return known[key]
    if Path(named).exists():
        return runners.find_plugin(named)
    close = keys.nearest(named, known)
    hint = "`prloom plugins list` lists all plugins"
    if close:
        hint = f"did you mean {close}?"
    raise PrloomError(f"there is no plugin {named}, neither as a name nor as a path; {hint}")


def _configured(given: Options, found: DiscoveredPlugin) -> tuple[Mapping[str, Json], timedelta]:
    """Return the plugin's settings, and how long a hook may take."""
    from prloom.config import loading  # noqa: PLC0415 - see command

    plugins = loading.load(context.root_or_folder(given), os.environ, given.overrides, None).plugins
    own: Mapping[str, Json] = dict(plugins.settings_of(found.key).own)
    if found.is_daemon_only:
        from prloom.engine.background.secret_store import SecretStore  # noqa: PLC0415 - see command
        from prloom.extensions.background.settings import Given  # noqa: PLC0415
        from prloom.testing import daemon_trial  # noqa: PLC0415

        secrets: Mapping[str, str] = {}
        if daemon_trial.has_secrets(found):
            secrets = SecretStore(context.root_or_folder(given), os.environ).read(found.key)
        own = daemon_trial.resolved(found, Given(own, secrets, os.environ))
    return own, plugins.hook_timeout


def _events(said: Sequence[str], files: Sequence[str]) -> Mapping[str, Event]:
    """Return the events to show, by a description of each: what the options give, or the golden ones."""
    from prloom.engine.operator import emit  # noqa: PLC0415 - see command
    from prloom.testing import GOLDEN_EVENTS, a_comment  # noqa: PLC0415

    spoken = {text: a_comment(text, id=f"said-{number}") for number, text in enumerate(said, start=1)}
    read = {event.id: event for name in files for event in emit.parse(input_file.events(name), name)}
    return {**spoken, **read} or GOLDEN_EVENTS


@contextmanager
def _at_work(
    found: DiscoveredPlugin, settings: Mapping[str, Json], limit: timedelta, *, inline: bool
) -> Iterator[tuple[Runner, Path]]:
    """Yield what runs the plugin, and the empty folder that stands for the repository."""
    import tempfile  # noqa: PLC0415 - see command
    from pathlib import Path  # noqa: PLC0415

    from prloom.testing import runners  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="prloom-plugins-test-") as folder:
        root = Path(folder).resolve()
        runner: Runner
        if inline:
            runner = runners.of_folder(found, settings)
        else:
            runner = runners.HostedRunner(_host(found, settings, root), limit)
        try:
            yield runner, root
        finally:
            runner.stop()


def _host(found: DiscoveredPlugin, settings: Mapping[str, Json], root: Path) -> PluginHost:
    """Return the host of the plugin's code, with its daemon, if it has one."""
    from prloom.extensions import filters  # noqa: PLC0415 - see command
    from prloom.extensions.host.process import ProcessHost  # noqa: PLC0415
    from prloom.testing.daemon_trial import TrialHost  # noqa: PLC0415

    code = None
    if not found.is_daemon_only:
        code = ProcessHost(found, settings, repo_root=root, environ=os.environ)
    if code is not None and not filters.runs_daemon(found):
        return code
    return TrialHost(found, settings, code)


def _watched(trials: Iterator[Trial], label: Callable[[str], None]) -> Iterator[Trial]:
    for each in trials:
        label(f"after: {each.shape}")
        yield each
