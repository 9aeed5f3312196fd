"""`prloom plugins start|stop|restart|status|logs`: control the daemons of background plugins, and show them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from prloom.cli import dispatcher_request
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal
from prloom.cli.plugins import daemon_names
from prloom.errors import PrloomError
from prloom.model.kinds import REQUEST_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.cli.output.terminal import Role
    from prloom.engine.views.daemons import DaemonStatus, RequestCounts
    from prloom.storage.safe_dir import SafeDir

_ROLES: dict[str, Role] = {"running": "good", "error": "bad", "stopped": "dim"}
_PAUSE = 0.3
_LINES = 100

NO_DISPATCHER = "no dispatcher is running; `prloom start` runs it, and with it the daemons of all plugins"


@click.command("start")
@click.argument("name")
@pass_options
def start(given: Options, name: str) -> None:
    """Start a plugin's daemon, and wait until it runs."""
    _order(given, "start", daemon_names.to_start(given, name), "runs")


@click.command("stop")
@click.argument("name")
@pass_options
def stop(given: Options, name: str) -> None:
    """Stop a plugin's daemon until `plugins start`, or until the dispatcher starts again."""
    _order(given, "stop", daemon_names.of_daemon(given, name), "is stopped")


@click.command("restart")
@click.argument("name")
@pass_options
def restart(given: Options, name: str) -> None:
    """Stop a plugin's daemon and start it again, with its settings as they are now."""
    _order(given, "restart", daemon_names.to_start(given, name), "runs again")


@click.command("status")
@json_option
@pass_options
def status(given: Options, *, as_json: bool) -> None:
    """Show the daemons of background plugins: whether they run, since when, and what they printed last."""
    from prloom.engine import background_plugins  # noqa: PLC0415 - `prloom plugins --help` needs none
    from prloom.engine.views import daemons  # noqa: PLC0415 - likewise

    found = background_plugins.read(daemon_names.local(given), daemon_names.selection(given))
    if as_json:
        terminal.echo_json(daemons.DaemonList(plugins=found))
    elif found:
        click.echo("\n".join(_status_lines(found)))
    else:
        click.echo("No plugin with a background process is enabled; `prloom plugins list` lists all plugins.")


@click.command("logs")
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Go on with what the daemon prints from now on.")
@click.option("-n", "--lines", default=_LINES, show_default=True, type=click.IntRange(1), help="How many lines.")
@pass_options
def logs(given: Options, name: str, *, follow: bool, lines: int) -> None:
    """Show what a plugin's daemon printed; control characters are shown as text."""
    from prloom.storage import paths  # noqa: PLC0415 - `prloom plugins --help` needs none

    key = daemon_names.of_daemon(given, name)
    local = daemon_names.local(given)
    folder = None
    if local is not None:
        folder = local.sub(paths.DAEMONS, paths.plugin_folder(key))
    if folder is None or not folder.exists(paths.DAEMON_LOG):
        raise PrloomError(f"the daemon of plugin {key} has printed nothing yet; see `prloom plugins status`")
    wait = None
    if follow:
        wait = _wait
    for line in log_lines(folder, paths.DAEMON_LOG, lines, wait):
        click.echo(terminal.clean(line))


def order(given: Options, verb: str, key: str) -> None:
    """Have the running dispatcher carry out an order, and wait for it; raises PrloomError with the reason."""
    from prloom.engine.background.selected_daemons import ORDER_DAEMON  # noqa: PLC0415 - `--help` needs none

    asked = {"plugin": key, "order": verb}
    dispatcher_request.send(given, ORDER_DAEMON, asked, absent=NO_DISPATCHER)


def log_lines(folder: SafeDir, name: str, most: int, wait: Callable[[], None] | None) -> Iterator[str]:
    """Yield the last lines of a log; with `wait`, which is called between two looks, what is added to it too."""
    content = folder.read_bytes(name) or b""
    yield from content.decode("utf-8", "replace").splitlines()[-most:]
    position = len(content)
    while wait is not None:
        wait()
        content = folder.read_bytes(name) or b""
        if len(content) < position:  # a new file, after a rotation
            position = 0
        end = content.rfind(b"\n") + 1
        if end > position:
            yield from content[position:end].decode("utf-8", "replace").splitlines()
            position = end


def _order(given: Options, verb: str, key: str, done: str) -> None:
    order(given, verb, key)
    click.echo(f"The daemon of {terminal.clean(key)} {done}.")


def _status_lines(found: Sequence[DaemonStatus]) -> Iterator[str]:
    room = max(terminal.columns_of(terminal.clean(each.name)) for each in found) + 2
    for each in found:
        yield from layout.item(terminal.clean(each.name), _summary(each), *_details(each), room=room)


def _summary(daemon: DaemonStatus) -> str:
    now = datetime.now(UTC)
    parts = [terminal.paint(daemon.state, _ROLES.get(daemon.state, "warn"))]
    if daemon.pid is not None:
        parts.append(f"process {daemon.pid}")
    if daemon.since is not None and daemon.pid is not None:
        parts.append(f"since {terminal.when(datetime.fromisoformat(daemon.since), now)}")
    if daemon.restarts == 1:
        parts.append("restarted 1 time")
    elif daemon.restarts:
        parts.append(f"restarted {daemon.restarts} times")
    return ", ".join(parts)


def _details(daemon: DaemonStatus) -> Iterator[str]:
    if daemon.reason:
        yield terminal.clean(daemon.reason)
    if daemon.problem:
        yield terminal.paint(terminal.clean(daemon.problem), "warn")
    if daemon.next_attempt_at is not None:
        yield f"started again at {terminal.clock(datetime.fromisoformat(daemon.next_attempt_at))}"
    if daemon.health_failures:
        checks = "health check" if daemon.health_failures == 1 else "health checks"
        yield terminal.paint(f"{daemon.health_failures} {checks} failed in a row", "warn")
    if daemon.events.delivered or daemon.events.dropped:
        yield f"events: {daemon.events.delivered} delivered, {daemon.events.dropped} dropped"
    if daemon.requests:
        yield f"requests: {'; '.join(f'{method} {_counts(each)}' for method, each in daemon.requests.items())}"
    if daemon.state == "error":
        yield from (terminal.paint(f"| {terminal.clean(line)}", "dim") for line in daemon.log)


def _counts(found: RequestCounts) -> str:
    """Return how the requests of a method ended, as far as there were any."""
    counts = [(getattr(found, outcome), outcome) for outcome in REQUEST_OUTCOMES]
    return ", ".join(f"{count} {outcome}" for count, outcome in counts if count)


def _wait() -> None:
    time.sleep(_PAUSE)
