"""Choose what an agent may know of the operator's environment and settings: never a forge's token."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from prloom.agents import run_folder
from prloom.agents.run_ancestry import RUN_VARIABLE
from prloom.errors import AgentError
from prloom.exchange import store_url
from prloom.exchange.worker.command import MARK, WORKER
from prloom.model import secret_names

OF_WORKERS: Final = frozenset({store_url.VARIABLE, WORKER, MARK, RUN_VARIABLE})
"""What the environment of a worker of the exchange has for itself; with it an agent could act on its exchange."""

EVERYONE: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_*",
    # The way to the model, where it leads through a proxy or to a server with a certificate of its own.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
"""What every agent gets. A name with `*` at its end stands for all that begin so."""

_FIXED: Final = {
    "GIT_TERMINAL_PROMPT": "0",  # git asks nobody: there is nobody
    "NO_COLOR": "1",
}


_WITHOUT_CREDENTIALS: Final = (
    ("credential.helper", ""),  # empty: forget all that other files name, also for one host
    ("credential.interactive", "false"),
    ("core.sshCommand", "false"),
    ("http.extraHeader", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
)
_WORKER: Final = {
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
    "GIT_TERMINAL_PROMPT": "0",
}
_AGENTS_OF_KEYS: Final = frozenset({"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GPG_AGENT_INFO"})


def allowed(
    environ: Mapping[str, str], extra_names: Iterable[str] = (), *, never: Collection[str] = ()
) -> dict[str, str]:
    """Return the part of the environment that an agent may have; the extra names are usually the agent's `variables`.

    `never` are names that it does not get, whatever allows them.

    A name that has to do with a forge, and a value that is a forge's token under another name, are left out, asked for
    or not. Relative folders are taken out of PATH: they would be the worktree's.
    """
    patterns = (*EVERYONE, *extra_names)
    kept = {
        name: value
        for name, value in environ.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns) and name not in never and not _forbidden(name, value)
    }
    if "PATH" in kept:
        folders = [folder for folder in kept["PATH"].split(os.pathsep) if Path(folder).is_absolute()]
        kept["PATH"] = os.pathsep.join(folders)
    return kept | _FIXED


def worker(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a run that works: git can do nothing in it that needs a credential.

    A worker that means to can get around this where it runs without a sandbox, for it runs programs as the operator.
    """
    settings = _WITHOUT_CREDENTIALS
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        numbered |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    kept = {name: value for name, value in env.items() if name not in _AGENTS_OF_KEYS}
    return kept | _WORKER | numbered


def _forbidden(name: str, value: str) -> bool:
    """Return whether the variable could open a forge, or belongs to a worker of the exchange."""
    of_forge = secret_names.is_forge_variable(name) or secret_names.is_forge_secret(name)
    return of_forge or secret_names.holds_forge_token(value) or name in OF_WORKERS


def outside(env: Mapping[str, str]) -> Path:
    """Return an empty folder of the operator's, outside of any worktree, where programs find no settings to obey."""
    cache = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or Path.home()) / ".cache")
    folder = cache / "prloom" / "empty"
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o500, exist_ok=True)
        strangers = any(folder.iterdir())
    except OSError as error:
        raise AgentError(
            f"{folder} cannot be created ({error.strerror}); set XDG_CACHE_HOME to another folder"
        ) from error
    if strangers:
        raise AgentError(f"{folder} must be empty, because a program that starts there obeys the files in it; empty it")
    return folder


def read_settings_files(files: Iterable[Path]) -> dict[Path, str]:
    """Return the texts of the operator's settings files that exist; raise AgentError for one that cannot be read."""
    texts = {}
    for path in files:
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > run_folder.SMALL:
                raise AgentError(
                    f"{path} is not an ordinary file of at most 1 MiB; prloom has to read it, so correct it"
                )
            texts[path] = path.read_text("utf-8")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise AgentError(f"{path} cannot be read ({error.strerror}); make it readable") from error
        except UnicodeDecodeError as error:
            raise AgentError(f"{path} is not UTF-8 text; correct it") from error
    return texts
