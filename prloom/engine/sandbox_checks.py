"""Find out whether runs have a sandbox, and prove it: by trying from one to read what a run must not see."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from prloom import programs
from prloom.agents import sandbox, sandbox_check
from prloom.agents.sandbox import Sandbox
from prloom.config.models import Config
from prloom.engine.host_socket import published_socket
from prloom.engine.views.doctor import Finding, FindingSeverity
from prloom.errors import PrloomError
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace.repository import Repository

_LIMIT = 20.0  # seconds
_VARIABLE = "PRLOOM_DOCTOR"
_WAITING = (sys.executable, "-S", "-E", "-c", "import sys; sys.stdin.read()")
_READ = 'cat "$1" 2>/dev/null; tr "\\0" "\\n" < "/proc/$2/environ" 2>/dev/null; test -S "$3" && echo "$4"; exit 0'


def of_mode(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that runs have no sandbox, where that is not the operator's wish."""
    problem = None if config.sandbox.mode == "off" else sandbox_check.problem(environ)
    if problem is None:
        return
    what, _, fix = problem.partition("; ")
    severity: FindingSeverity = "warning"
    if config.sandbox.mode == "required":
        severity = "error"
    what = f"runs have no sandbox, so an agent can do what you can: {what}"
    yield Finding(severity=severity, what=what, where="the sandbox", fix=fix)


def of_proof(config: Config, repo: Repository, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what a run could read: a file planted in HOME, another process's environment, the dispatcher's socket."""
    bwrap = programs.locate(sandbox.PROGRAM, environ)
    home = sandbox.home_folder(environ)
    if config.sandbox.mode == "off" or bwrap is None or sandbox_check.problem(environ) is not None or not home.is_dir():
        return
    secret = secrets.token_hex(16)
    planted = home / f".prloom-doctor-{secret[:8]}"
    waiting = subprocess.Popen(_WAITING, env={_VARIABLE: secret}, stdin=subprocess.PIPE)
    try:
        planted.write_text(secret)
        given = ("/bin/sh", "-c", _READ, "sh", str(planted), str(waiting.pid), _socket(repo.root), secret)
        shown = Sandbox(home=str(home), hidden=(str(repo.root), str(repo.git_dir)))
        command = sandbox.argv(shown, bwrap, given, cwd=Path("/"))
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT)
    finally:
        planted.unlink(missing_ok=True)
        waiting.communicate()
    if secret in ended.stdout:
        what = "a run can read your home, the environment of other programs, or the dispatcher's socket"
        fix = "update bubblewrap, and see what `bwrap --version` and its documentation say"
        yield Finding(severity="error", what=what, where="the sandbox", fix=fix)


def _socket(root: Path) -> str:
    """Return where the running dispatcher's socket is; a path at which nothing is, where none runs."""
    local = SafeDir.open(root, *paths.LOCAL)
    if local is not None:
        with local, suppress(PrloomError, OSError):
            return published_socket.find(local)
    return "/nonexistent"
