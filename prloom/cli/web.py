"""`prloom web`: show the repository in a browser, and take the operator's actions from there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.storage.paths import RepositoryPaths
    from prloom.web.sessions import Sessions

_PORT = 7717
_HOST = "127.0.0.1"
PASSWORD = "PRLOOM_WEB_PASSWORD"  # noqa: S105 - the name of the variable


@click.command("web")
@click.option("--port", default=_PORT, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in your browser.")
@click.option(
    "--host",
    default=_HOST,
    show_default=True,
    metavar="ADDRESS",
    help=f"Listen on this address of the machine; others need a password, from ${PASSWORD} or asked for.",
)
@pass_options
def command(given: Options, *, port: int, open_browser: bool, host: str) -> None:
    """Show plans, events, runs and costs in a browser, and take your actions there, until Ctrl-C.

    The printed link works once; then a new one is printed. The page shows every change at once.
    """
    from prloom.web import access, app, server, sessions, site  # noqa: PLC0415 - `prloom --help` needs none

    password = None
    if not access.is_loopback(host):
        password = _password()
    where, _ = context.repository_to_read(given)
    shown = site.Site(where, lambda: context.config(given), os.environ)
    known = sessions.Sessions(site.utc_now, password)
    listening = server.listen(host, port)
    names = access.names(host, port, server.machine_names())
    base = f"http://{access.link_host(host)}:{port}"
    _announce(base, known)
    if not open_browser:
        server.run(app.build(shown, known, names), listening)
        return
    with listening, _leading_page(where, _link(base, known.link_token)) as page:
        click.launch(page)
        server.run(app.build(shown, known, names), listening)


@contextmanager
def _leading_page(where: RepositoryPaths, link: str) -> Iterator[str]:
    """Yield a page in a file of the operator's own that leads to a link.

    A browser that is started with the link itself shows it to all who can list the processes.
    """
    from prloom.storage import paths  # noqa: PLC0415 - only with --open
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    text = f'<!doctype html><title>prloom</title><meta http-equiv="refresh" content="0; url={link}">'
    with SafeDir.make(where.root, *paths.LOCAL) as local:
        local.replace(paths.WEB_LINK, text.encode(), mode=0o600, lasting=False)
        try:
            yield (where.local / paths.WEB_LINK).as_uri()
        finally:
            local.remove(paths.WEB_LINK)


def _announce(base: str, known: Sessions) -> None:
    """Print the link, and a new one whenever it was used."""

    def print_next(token: str) -> None:
        click.echo(f"A browser has opened the link. For another one: {_link(base, token)}")

    known.on_used = print_next
    if known.password is not None:
        click.echo(f"prloom web: {base} (with the password)")
    click.echo(f"Open {_link(base, known.link_token)}")
    click.echo("The link works once. Ctrl-C ends the server; the dispatcher continues to run.")


def _link(base: str, token: str) -> str:
    return f"{base}/login?token={token}"


def _password() -> str:
    """Return the password; raises PrloomError where nobody can give one, or it is too short."""
    import sys  # noqa: PLC0415 - only with --host

    from prloom.web.sessions import SHORTEST_PASSWORD  # noqa: PLC0415 - likewise

    given = os.environ.pop(PASSWORD, "")
    if not given and not sys.stdin.isatty():
        raise PrloomError(f"others can reach this address, so it needs a password; set {PASSWORD}, and run it again")
    if not given:
        given = click.prompt("Password for the page", hide_input=True, confirmation_prompt=True)
    if len(given) < SHORTEST_PASSWORD:
        raise PrloomError(f"the password is too short; use at least {SHORTEST_PASSWORD} characters")
    return given
