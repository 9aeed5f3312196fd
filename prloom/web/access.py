"""Decide which requests a browser may send: those to a name of this server, from a page of this server."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - what a person may ask for
_DEFAULT_PORT: Final = 80


class Names(NamedTuple):
    """The names under which the server is reached: `hosts` with their port, and whether any IP address is one too.

    Another site can have its own name resolve to this machine, but it cannot make an address of it.
    """

    hosts: frozenset[str]
    port: int
    any_address: bool = False

    def has(self, host: str) -> bool:
        """Whether a Host header names this server."""
        if host.lower() in self.hosts:
            return True
        return self.any_address and _is_address(host, self.port)


def names(address: str, port: int, machine: tuple[str, ...] = ()) -> Names:
    """Return the names of a server that listens on an address; `machine` are the names of the machine itself.

    The names of the machine count only where it listens on all of its addresses.
    """
    known: tuple[str, ...] = (_bracketed(address),)
    if is_loopback(address):
        known = (*_LOOPBACK, *known)
    elif address in _EVERYWHERE:
        known = (*_LOOPBACK, *machine)
    hosts = {f"{name.lower()}:{port}" for name in known if name}
    if port == _DEFAULT_PORT:
        hosts |= {name.lower() for name in known if name}
    return Names(frozenset(hosts), port, any_address=address in _EVERYWHERE)


def is_loopback(address: str) -> bool:
    """Whether only programs of this machine can connect to an address."""
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def link_host(address: str) -> str:
    """Return the host of the link that is printed for a server that listens on an address."""
    if address in _EVERYWHERE:
        return "127.0.0.1"
    return _bracketed(address)


def problem(method: str, headers: Mapping[str, str], of: Names) -> str | None:
    """Return why a request is refused, or None; the keys of `headers` are lower case.

    A browser says from which page a request comes. A request that changes something has to say so.
    """
    host = headers.get("host", "")
    if not of.has(host):
        return "this server does not answer to that host name; open the address that `prloom web` has printed"
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
        return "another site's page has sent this request"
    site = headers.get("sec-fetch-site", "")
    if method in SAFE:
        if site in {"cross-site", "same-site"} and headers.get("sec-fetch-mode") != "navigate":
            return "another site's page has sent this request"
        return None
    if site and site != "same-origin":
        return "another site's page has sent this request"
    if origin is None and site != "same-origin":
        return "the request does not say which page has sent it"
    return None


def _bracketed(address: str) -> str:
    if ":" in address:
        return f"[{address}]"
    return address


def _is_address(host: str, port: int) -> bool:
    name, separator, number = host.rpartition(":")
    if not separator or number != str(port):
        return False
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
