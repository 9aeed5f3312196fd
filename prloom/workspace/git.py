"""Run git so that nothing that a branch brings is run, nobody is asked anything, and every call ends.

Every git process of prloom is started here, by `subprocess`; those of GitPython too (`objects`), whose own process
layer would not serve: it hands down the caller's whole environment (a GIT_DIR set by the hook or alias that started
prloom would redirect every call), falls back to the current folder when the one asked for cannot be entered, and its
time limit finds children by parsing `ps`.

What is refused, and why, is in git-config(1): hooks and the file system monitor are programs that a relative setting
finds in the worktree; `ext::` is a transport that is a program; a bare repository among a branch's files has a
configuration of its own; submodules are fetched from where the branch says.

The drivers that the configuration names by an attribute or an event (filters, merge drivers and hooks) are turned off
one by one, whoever set them, because git has no setting for all of them. Git runs them with the worktree as their
folder, so whatever such a command names (`sh -c '…'`, `make x`, `python -m x`) may be a file of the branch. The keys
are described in gitattributes(5), "filter" and "Defining a custom merge driver", and in git-hook(1).
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from prloom import programs
from prloom.core.text.naming import mask_credentials, printable
from prloom.errors import WorkspaceError
from prloom.workspace import git_errors
from prloom.workspace.git_config import LIST, ConfigEntries, RememberedConfig
from prloom.workspace.git_errors import GitSystemError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path
    from subprocess import Popen

GitSetting = tuple[str, str]
"""A key of git's configuration and its value."""

_OFF = {
    # Without a command git takes the content as it is, and `required` would make that an error.
    "filter": (("smudge", ""), ("clean", ""), ("process", ""), ("required", "false")),
    # An empty command would pass for a merge without conflicts; one that fails leaves a conflict, which is seen.
    "merge": (("driver", "false"),),
    # `core.hooksPath` does not reach the hooks of the configuration, which git knows since version 2.54.
    "hook": (("enabled", "false"),),
}


def drivers_turned_off(keys: Iterable[str]) -> tuple[GitSetting, ...]:
    """Return the settings that turn off every driver among the configured keys.

    The name of a driver is all that stands between the first and the last dot of a key, and may hold any character.
    """
    found: dict[tuple[str, str], None] = {}
    for key in keys:
        section, dot, rest = key.partition(".")
        name, second, _ = rest.rpartition(".")
        if section in _OFF and dot and second:
            found[section, name] = None
    return tuple((f"{section}.{name}.{key}", value) for section, name in found for key, value in _OFF[section])


def _setting_options(settings: Iterable[GitSetting]) -> list[str]:
    """Return the settings as options of git, all but those whose key has a `=`, at which git would end the key."""
    return [part for key, value in settings if "=" not in key for part in ("-c", f"{key}={value}")]


def _setting_variables(settings: Iterable[GitSetting], env: Mapping[str, str]) -> dict[str, str]:
    """Return the other settings as variables of git's environment, behind those that it has already."""
    others = [setting for setting in settings if "=" in setting[0]]
    count = env.get("GIT_CONFIG_COUNT", "")
    begin = int(count) if count.isdecimal() else 0
    named = {
        f"GIT_CONFIG_{what}_{number}": text
        for number, setting in enumerate(others, begin)
        for what, text in zip(("KEY", "VALUE"), setting, strict=True)
    }
    if others:
        return {**named, "GIT_CONFIG_COUNT": str(begin + len(others))}
    return {}


LIMIT = timedelta(minutes=1)
"""How long a call may take when its caller does not say."""

LONG_LIMIT = timedelta(minutes=10)
"""How long a call may take that reads or writes all files of a commit."""

_GRACE = 2.0  # seconds in which an interrupted git takes its lock files away

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",  # an index is copied as one file
    "core.untrackedCache=false",  # an agent could have left one that says that there is nothing new
    "core.pager=cat",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "status.submoduleSummary=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "gc.auto=0",  # else a call may leave a process behind
    "maintenance.auto=false",
    "credential.interactive=false",
    "color.ui=false",
    "core.quotePath=false",
    "core.fsync=committed",  # a commit whose objects a power failure took would be a branch that leads nowhere
)
_OPTIONS = ("--no-pager", "--no-optional-locks", *(part for each in _SETTINGS for part in ("-c", each)))

# Without them these commands run programs that the configuration names for attributes which a branch sets, or look into
# submodules, which have a configuration of their own.
_GUARDS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
_GUARDED = {
    **dict.fromkeys(("diff", "diff-files", "diff-index", "diff-tree", "format-patch", "log", "show"), _GUARDS),
    "status": ("--ignore-submodules=dirty",),
}

# These use the object store, the configuration and the network only. Any other command may run a driver or a hook.
_READ_ONLY = ("cat-file", "config", "diff-tree", "for-each-ref", "ls-remote", "ls-tree", "merge-base", "remote")
_WITHOUT_DRIVERS = frozenset((*_READ_ONLY, "commit-tree", "rev-list", "rev-parse", "var", "version"))
_CONFIG_OF = RememberedConfig()

_MACHINE = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
_CONFIG = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_IDENTITY = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_ACCESS = ("GIT_SSH", "GIT_SSH_COMMAND", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME")
_CERTIFICATES = ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_KEPT = frozenset((*_MACHINE, *_CONFIG, *_IDENTITY, *_ACCESS, *_CERTIFICATES, *_PROXIES))
_SET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
}
_REMOTE = frozenset(("fetch", "push", "ls-remote"))
"""Commands that talk to a remote: they sign in as the operator's own git does, by whatever their environment says."""
_REDIRECTING = frozenset(
    (
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_NAMESPACE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE"),
        *("GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_CONFIG", "GIT_ATTR_SOURCE", "GIT_DEFAULT_HASH"),
        *("GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"),
        *("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_PUSH_OPTION_COUNT"),
        *("GIT_REFLOG_ACTION", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
    )
)
"""Variables by which whoever started prloom, such as a hook, may lead git elsewhere; see git(1), "ENVIRONMENT"."""
SETTABLE = frozenset(("GIT_INDEX_FILE", "GIT_ALLOC_LIMIT", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", *_IDENTITY))
"""The variables of git's environment that a caller may set."""

NONE: Mapping[str, str] = MappingProxyType({})
"""No variable."""


@dataclass(frozen=True)
class GitResult:
    """How a call ended: its exit code, and what it wrote to its standard output and its standard error."""

    code: int
    content: bytes
    err: str = field(default="", compare=False)

    @property
    def out(self) -> str:
        """What it wrote, as text; bytes that are none are kept as Python keeps those of a path."""
        return os.fsdecode(self.content)


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    git_dir: Path | None = None,
    codes: Collection[int] = (0,),
    limit: timedelta = LIMIT,
    stdin: bytes = b"",
    variables: Mapping[str, str] = NONE,
    settings: Sequence[GitSetting] = (),
    drivers: Sequence[GitSetting] | None = None,
    as_operator: bool = False,
) -> GitResult:
    """Run one git command, given without the `git`, and return its answer.

    With `git_dir` that is the repository and cwd its worktree, whatever a `.git` in cwd says. `variables` are of
    SETTABLE: the index to use instead of the worktree's own, or a commit's author. `settings` are added to those with
    which git always runs, and `drivers`, if given, are those of `drivers_off` for this folder. `as_operator` gives it
    the operator's environment, with which it can sign. An exit code that is not in `codes`, a git that cannot be
    started, or one that takes longer than `limit` raises WorkspaceError with one line.
    """
    if not variables.keys() <= SETTABLE:
        raise ValueError(f"not for callers to set: {sorted(variables.keys() - SETTABLE)}")
    words = [os.fspath(word) for word in argv]
    words[1:1] = _GUARDED.get(words[0], ())
    env = {**environment(os.environ, cwd=cwd, git_dir=git_dir, whole=as_operator or words[0] in _REMOTE), **variables}
    off: Sequence[GitSetting] = ()
    if words[0] not in _WITHOUT_DRIVERS:
        off = drivers_off(cwd, git_dir) if drivers is None else drivers
    return _answer(
        words,
        cwd=cwd,
        env={**env, **_setting_variables(off, env)},
        off=(*settings, *off),
        codes=codes,
        limit=limit,
        stdin=stdin,
    )


def drivers_off(cwd: Path, git_dir: Path | None) -> tuple[GitSetting, ...]:
    """Return the settings that turn off all drivers of a repository, for calls that follow one another closely.

    They are those of one folder and repository: which files the configuration includes may depend on both.
    """
    return drivers_turned_off(key for key, _ in configuration(cwd, git_dir))


def configuration(cwd: Path, git_dir: Path | None = None) -> ConfigEntries:
    """Return all keys of git's configuration with their values; git is asked again when a file of it has changed."""
    env = environment(os.environ, cwd=cwd, git_dir=git_dir)
    return _CONFIG_OF.read(cwd, git_dir, env, lambda: _answer(LIST, cwd=cwd, env=env).out)


def environment(caller: Mapping[str, str], *, cwd: Path, git_dir: Path | None, whole: bool = False) -> dict[str, str]:
    """Return the environment of a git process: what it needs of the caller's, and nothing that leads it elsewhere.

    The `whole` of it, but for that, is for one that signs in or signs, for any of it may say how.
    """
    if whole:
        kept = {name: value for name, value in caller.items() if name not in _REDIRECTING}
    else:
        kept = {name: value for name, value in caller.items() if name in _KEPT}
    kept["PATH"] = programs.absolute_path(kept)
    if git_dir is None:
        place = {}
    else:
        place = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(cwd)}
    return {**kept, **_SET, **place}


def reason(err: str, code: int) -> str:
    """Return the line of git's standard error that says what is wrong, without passwords and control characters."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    if not said:
        return f"it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'} and no message"
    return printable(mask_credentials(said), 400)


def _answer(
    words: Sequence[str],
    *,
    cwd: Path,
    env: dict[str, str],
    off: tuple[GitSetting, ...] = (),
    codes: Collection[int] = (0,),
    limit: timedelta = LIMIT,
    stdin: bytes = b"",
) -> GitResult:
    process = _start([*_OPTIONS, *_setting_options(off), *words], f"git {printable(words[0])}", cwd, env)
    code, out, err = _finish(process, f"git {printable(words[0])} in {printable(str(cwd))}", limit, stdin)
    if code not in codes:
        said = f"git {printable(words[0])} failed in {printable(str(cwd))}: {reason(err, code)}"
        raise git_errors.failed(said, code, err)
    return GitResult(code, out, err)


def _start(argv: list[str], what: str, cwd: Path, env: dict[str, str]) -> Popen[bytes]:
    from subprocess import PIPE, Popen  # noqa: PLC0415 -- 10 ms that commands which only read files do not pay

    if not cwd.is_dir():
        raise WorkspaceError(f"{printable(str(cwd))} is not a folder; git cannot run there")
    program = programs.locate("git", env)
    if program is None:
        raise GitSystemError("git was not found in PATH; install it from https://git-scm.com")
    try:
        # A session of its own has no terminal to ask for a password at, and can be ended whole.
        return Popen([program, *argv], cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)
    except (OSError, ValueError) as error:  # arguments too long, or a NUL among them
        raise GitSystemError(
            f"{what} could not be started in {printable(str(cwd))}: {printable(str(error))}"
        ) from error


def _finish(process: Popen[bytes], what: str, limit: timedelta, stdin: bytes) -> tuple[int, bytes, str]:
    from subprocess import TimeoutExpired  # noqa: PLC0415 -- see _start

    with process:
        try:
            out, err = process.communicate(stdin, timeout=limit.total_seconds())
        except TimeoutExpired as error:
            raise GitSystemError(f"{what} took longer than {limit.total_seconds():g} s and was stopped") from error
        finally:
            _stop(process)
    return process.returncode, out, os.fsdecode(err)


def _stop(process: Popen[bytes]) -> None:
    """End the process and all of its session, if it has not ended: first so that git can clean up, then for certain."""
    from subprocess import TimeoutExpired  # noqa: PLC0415 -- see _start

    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutExpired):
        process.wait(_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
