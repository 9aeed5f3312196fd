"""Read which repository of a forge a git remote's URL names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

# What git calls the scp-like form (git-fetch(1), "GIT URLS"): user@host:path.
_SCP_LIKE = re.compile(r"(?:[^@/\s]{1,64}@)?([A-Za-z0-9.-]{1,253}):(?!/)(\S{1,300})")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")


def owner_and_name(remote_url: str, api_url: str) -> str | None:
    """Return `owner/name` of a remote on the host whose API has that address, or None where it is elsewhere."""
    host, path = _host_and_path(remote_url)
    home = (urlsplit(api_url).hostname or "").removeprefix("api.")
    name = path.strip("/").removesuffix(".git")
    return name if host.lower() == home and _NAME.fullmatch(name) else None


def _host_and_path(remote_url: str) -> tuple[str, str]:
    if "://" in remote_url:
        parts = urlsplit(remote_url)
        return parts.hostname or "", parts.path
    found = _SCP_LIKE.fullmatch(remote_url)
    return (found[1], found[2]) if found else ("", "")
