"""Tell which repository of a forge the address of a git remote names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_SCP = re.compile(r"(?:[^@/:\s]{1,100}@)?([^/:\s]{1,255}):(?!//)(\S{1,500})")  # git's short form: user@host:path
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SSH = "ssh."  # GitHub answers on port 443 of ssh.github.com too


def owner_and_name(remote_url: str, api_url: str) -> str | None:
    """Return `owner/name` where the address of a git remote is of the forge with this API, else None.

    The forge of `https://api.github.com` is github.com; that of `https://HOST/base/api/v3` is HOST, below `/base`.
    """
    found = _host_and_path(remote_url.strip())
    if found is None:
        return None
    host, path = found
    forge, base = _forge(api_url)
    if host.removeprefix(_SSH) != forge:
        return None
    inside = path.strip("/").removesuffix(".git")
    parts = (inside.removeprefix(f"{base}/") if base else inside).split("/")
    named = len(parts) == 2 and all(_NAME.fullmatch(part) and part.strip(".") for part in parts)  # noqa: PLR2004 - owner, name
    if named:
        return "/".join(parts)
    return None


def _host_and_path(url: str) -> tuple[str, str] | None:
    if "://" not in url:
        short = _SCP.fullmatch(url)
        if short:
            return (short[1].lower(), short[2])
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.hostname and parts.scheme != "file":
        return (parts.hostname, parts.path)
    return None


def _forge(api_url: str) -> tuple[str, str]:
    """Return host and base path of a forge's repositories; `api.` before the name, or `/api/…`, is its API's."""
    parts = urlsplit(api_url.rstrip("/"))
    base, api, _ = parts.path.partition("/api/")
    host = parts.hostname or ""
    if api:
        return (host, base.strip("/"))
    return (host.removeprefix("api."), parts.path.strip("/"))
