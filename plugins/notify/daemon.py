"""Tell a person of what needs one, through Apprise: the daemon of the bundled plugin `notify`."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the folder that has `plugins` in it

from plugins.notify import messages, notifier, reported_file  # found by the line above
from plugins.notify.notifier import Notifier, Rules
from plugins.notify.recipient import Send, Target

log = logging.getLogger("notify")

_METHOD_NOT_FOUND = -32601
_PARSE_ERROR = -32700
_AFTER_EVENT = 2.0  # seconds until what an event leads to is in prloom's files
_AFTER_ERROR = 60.0

NO_APPRISE = (
    "apprise is not installed; add it with `pipx inject prloom apprise`, with `uv tool install --with apprise` and "
    f"where prloom came from, or with `{sys.executable} -m pip install apprise`; "
    "then run `prloom plugins restart notify`"
)


def answer(
    line: bytes, check_soon: threading.Event, problem: Callable[[], str | None] = lambda: None
) -> dict[str, Any] | None:
    """Return the answer to one message, or None for a notification; an event leads to a check.

    `problem` says what does not work although the daemon does.
    """
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"id": None, "error": {"code": _PARSE_ERROR, "message": str(error)}}
    method, number = message.get("method"), message.get("id")
    if method in {"on_event", "events_dropped"}:
        check_soon.set()
        return None
    if method == "health_check":
        return {"id": number, "result": {"status": "ok", "problem": problem()}}
    if number is None:
        return None
    return {"id": number, "error": {"code": _METHOD_NOT_FOUND, "message": f"there is no method {method}"}}


class Server(socketserver.ThreadingUnixStreamServer):
    """Listens where prloom says, with a thread for each connection."""

    daemon_threads = True

    def __init__(self, path: str, check_soon: threading.Event, problem: Callable[[], str | None]) -> None:
        self.check_soon = check_soon
        self.problem = problem
        super().__init__(path, Connection)


class Connection(socketserver.StreamRequestHandler):
    """A connection stays open: one message a line, in both directions."""

    server: Server

    def handle(self) -> None:
        """Answer until prloom closes the connection."""
        for line in self.rfile:
            said = answer(line, self.server.check_soon, self.server.problem)
            if said is not None:
                self.wfile.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n")


def check_for_ever(notify: Notifier, check_soon: threading.Event) -> None:
    """Look again and again, and soon after each event; what goes wrong is logged, and tried again."""
    while True:
        try:
            wait = notify.check()
        except Exception as error:  # noqa: BLE001 - the next check may succeed
            log.warning("%s", error)
            wait = _AFTER_ERROR
        if check_soon.wait(wait):
            threading.Event().wait(_AFTER_EVENT)
            check_soon.clear()


def rules(environ: Mapping[str, str]) -> Rules:
    """Return the rules that the settings amount to; raises ValueError, whose text names the setting."""
    zone = None
    if environ.get("PLUGIN_CONFIG_TIMEZONE"):
        try:
            zone = ZoneInfo(environ["PLUGIN_CONFIG_TIMEZONE"])
        except (KeyError, ValueError) as error:
            raise ValueError(f"timezone: there is no {environ['PLUGIN_CONFIG_TIMEZONE']!r}") from error
    return Rules(
        interval=max(float(environ.get("PLUGIN_CONFIG_INTERVAL", "60")), 1),
        gather=max(float(environ.get("PLUGIN_CONFIG_GATHER", "15")), 0),
        quiet=messages.quiet_hours(environ.get("PLUGIN_CONFIG_QUIET_HOURS", "")),
        zone=zone,
        kinds=frozenset(environ.get("PLUGIN_CONFIG_KINDS", "").replace(",", " ").split()),
    )


def targets(urls: str) -> Sequence[Target]:
    """Return a target for each of the URLs; one that Apprise does not know stops no other. No URL is in a name.

    Raises ValueError where no URL is usable, ImportError without Apprise.
    """
    import apprise  # noqa: PLC0415 - its absence is reported, and not raised where this file is imported

    found = []
    for number, url in enumerate(urls.split(), start=1):
        key, place, send, problem = hashlib.sha256(url.encode()).hexdigest()[:16], apprise.Apprise(), None, None
        if place.add(url):
            send = _sender(place)
        else:
            problem = f"urls: number {number} is not a URL that Apprise supports; see its list of services"
        found.append(Target(key, f"urls: number {number}", send, problem))
    if not found:
        raise ValueError("urls: there is none; write Apprise URLs, such as ntfy://my-topic")
    if all(each.send is None for each in found):
        raise ValueError(str(found[0].problem))
    return found


def _sender(place: Any) -> Send:  # noqa: ANN401 - Apprise has no types
    def send(title: str, body: str) -> bool:
        return bool(place.notify(body=body, title=title, body_format="text"))

    return send


def _find_desktop(environ: MutableMapping[str, str]) -> None:
    """Let the desktop be reached although the daemon's environment does not name it."""
    bus = Path(f"/run/user/{os.getuid()}/bus")
    if "DBUS_SESSION_BUS_ADDRESS" not in environ and bus.exists():
        environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={bus}"


def main() -> int:
    """Look and listen until prloom ends this process; return 1 where it cannot begin."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    _find_desktop(os.environ)
    root = os.environ["PRLOOM_REPO_ROOT"]
    try:
        found = targets(os.environ.get("PLUGIN_CONFIG_URLS", ""))
        given = rules(os.environ)
    except ImportError:
        print(NO_APPRISE)  # noqa: T201 - prloom shows what is printed
        return 1
    except ValueError as error:
        print(error)  # noqa: T201 - likewise
        return 1
    check_soon = threading.Event()
    notify = Notifier(Path(root).name, given, lambda: notifier.status(root), found, reported_file.kept_in(root))
    with Server(os.environ["PRLOOM_SOCKET_PATH"], check_soon, lambda: notify.problem) as server:
        threading.Thread(target=check_for_ever, args=(notify, check_soon), daemon=True).start()
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
