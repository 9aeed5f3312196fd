"""Decide what a plugin finds in its environment: what programs need, what it asks for, and no forge's token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from prloom.model import kinds

# An allow-list: an operator's shell holds many secrets, and a plugin names those that it needs in `requires_env`.
_ALLOWED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|TZ|TERM|NO_COLOR|LANG|LANGUAGE|LC_[A-Z]+|TMPDIR|TEMP|TMP|XDG_[A-Z_]+"
    r"|PYTHON[A-Z]+|VIRTUAL_ENV|LD_LIBRARY_PATH|DYLD_[A-Z_]+|PRLOOM_HOME"
    r"|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:(?:HTTP|HTTPS|ALL|NO)_PROXY)"
)


def allowed(environ: Mapping[str, str], asked: Iterable[str]) -> dict[str, str]:
    """Return the environment for a plugin that asks for these variables."""
    wanted = set(asked)
    return {
        name: value
        for name, value in environ.items()
        if (name in wanted or _ALLOWED.fullmatch(name)) and not kinds.is_forge_secret(name)
    }
