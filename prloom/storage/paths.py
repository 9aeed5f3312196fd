"""Define where prloom's files are, and which of them are private to their owner."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from prloom.core.text import naming
from prloom.model import own_folder

if TYPE_CHECKING:
    from pathlib import Path


LOCAL = tuple(own_folder.OWN_FOLDER.split("/"))
"""The folder of all that prloom writes, below a checkout, by its components."""

EVENTS = "events.jsonl"
DECISIONS = "decisions.jsonl"
ACTIONS = "actions.jsonl"
DISPATCHER = "dispatcher.json"
HOST_SOCKET = "dispatcher.socket.json"
"""Where the running dispatcher's socket is, for commands whose runtime folder is another one."""
CONTROL = "control.jsonl"
LOCK = own_folder.DISPATCHER_LOCK
PLAN_TEXT = "plan.md"
DESIGNS = "designs"
"""The folder, in the main checkout, into which a designer writes a plan while it talks with the operator."""
SESSIONS = "sessions"
"""The folder, in the main checkout, of the locks that persons or prloom have of worktrees."""
PLAN_STATE = own_folder.PLAN_STATE
REVIEW = "review.md"

CONFIG_CHECK = "config-check.json"
"""Which configuration was last found valid, by its checksum; `prloom status` then need not check it."""

BUS = own_folder.BUS
BUS_STATE = "state"
RUNS = "runs"
RUN_LOG = "run-log"
"""The folder, in the main checkout, of the records of all agent runs that have ended: one file for each day (UTC)."""
ERROR_LOG = "error-log"
"""The folder, in the main checkout, of the records of all errors that are over: one file for each day (UTC)."""
PLUGIN_STATE = "plugin-state"
PLUGIN_STATE_GLOBAL = "plugin-state-global"
ISSUED = "issued"
"""The folder, in the main checkout, of what prloom remembers of its own posts on each pull request, and of TODOs."""
ADOPTED = "plans"
"""The folder, in the main checkout, of what prloom remembers of each adopted plan."""
EXCHANGE = "exchange.db"
"""The repository's exchange, in the main checkout: the messages of agent runs, and those of other programs."""
POOL_LOG = "pool.log"
WEB_LINK = "web-open.html"
"""What the processes that do agent runs had to say, in the main checkout; begun anew by each of them."""
STARTED_RUNS = "started-runs"
"""The folder, in the main checkout, of one small file for each run whose activity has a start and no end yet."""
CLONES = own_folder.CLONES
"""The folder, in the main checkout, of the clones in which agents work: one for each plan."""
INBOX = "inbox"
"""The folder, in the main checkout, of the drafts: plans that have no branch yet, `<plan>.md` each."""
ACTIVATIONS = "activations"
"""The folder, in the main checkout, of what prloom notes of a draft while it makes its branch and worktree."""
SEEN_IDS = "seen-ids.sqlite"
"""Where each event is in its journal, by its id; in a bus's state folder. A cache: it may be removed."""
SEGMENT_ENDS = "segment-ends.json"
"""How far the closed segments of the events were read; in a bus's state folder."""
CLEAN_BARRIER = ".git"
"""An empty repository in a `prloom/.local`: `git clean -fdx` leaves a folder with a repository alone."""
PLUGINS = "plugins.json"
"""What the dispatcher last knew of the plugins, in the repository-wide bus's state folder."""
DAEMONS = "plugins"
"""The folder, in the main checkout, of what prloom keeps of each background plugin."""
DAEMON_LOG = "daemon.log"
"""What a daemon printed, in its plugin's folder there; the log before it is `daemon.log.1`."""
DAEMON_IDS = "daemon.json"
"""Beside it: by what a running daemon is recognised after a crash of its dispatcher."""
DAEMON_STATUS = "daemons.json"
"""What the dispatcher last knew of the daemons, in the repository-wide bus's state folder."""
PLANS = "plans.json"
"""Which plans the dispatcher could not open, and why; beside it."""
WORK = "work.json"
"""What the dispatcher is doing just now: the hook calls under way, and the plans that wait for an agent; beside it."""
DECLINED = "declined.json"
"""The pull requests that a person gave up, which no rule adopts again; beside it."""
ALLOWED_TOOLS = "allowed-tools.json"
"""Which tools a person has allowed for a plan once and for all; beside it."""
REQUESTS = "requests.json"
"""The calls of tools and the questions of agents that wait for a person; beside it."""
QUESTIONS = "questions.json"
"""The questions of agents that were asked, with their answers, for a run that asks again after a crash; beside it."""
ACTION_NAMES = "plugin-actions.json"
"""The names of the actions that daemons have registered, for while a daemon is started again; beside it."""
BRIDGES = "bridges.json"
"""What the dispatcher last knew of the bridges: the latest polls and their errors; beside it."""


class RepositoryPaths(Struct, frozen=True):
    """The paths below the checkout in which prloom was started."""

    root: Path
    worktrees: Path

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.root / "prloom.toml"

    @property
    def local(self) -> Path:
        """All that prloom writes for the repository as a whole."""
        return self.root.joinpath(*LOCAL)

    @property
    def bus(self) -> Path:
        """The repository-wide bus."""
        return self.local / BUS

    @property
    def project_plugins(self) -> Path:
        """The project's own plugins."""
        return self.root / "prloom" / "plugins"

    def clone(self, plan_id: str) -> Path:
        """The clone in which the agents of a plan work."""
        return self.local / CLONES / plan_id

    def worktree(self, plan_id: str) -> Path:
        """The git worktree of a plan."""
        return self.worktrees / plan_id


def of_run(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the checkout in which the folder of a run is, and the components of the folder below it."""
    depth = len((*LOCAL, RUNS, "<run>"))
    return folder.parents[depth - 1], folder.parts[-depth:]


def draft(plan_id: str) -> str:
    """Return the name of a draft's file in the inbox."""
    return f"{plan_id}.md"


def activation(plan_id: str) -> str:
    """Return the name of the note that a plan is being made of its draft."""
    return f"{plan_id}.json"


def plugin_file(key: str) -> str:
    """Return the name of a plugin's state file; keys such as `image/openai` become one name."""
    return key.replace("/", "__") + ".json"


def plugin_folder(key: str) -> str:
    """Return the name of a plugin's folder; keys such as `image/openai` become one name."""
    return key.replace("/", "__")


def issued_posts(forge: str, pr: int) -> str:
    """Return the name of the file of prloom's own posts on a pull request."""
    return f"{forge.replace('/', '__')}-{pr}.jsonl"


def issued_todos(branch: str) -> str:
    """Return the name of the file of the TODOs of a branch without a pull request."""
    return f"branch--{naming.plan_id(branch)}.jsonl"


def bridge_cursor(bridge: str) -> str:
    """Return the name of the file of a bridge's own cursor."""
    return f"bridge.{bridge}.json"


def bridge_deliveries(bridge: str) -> str:
    """Return the name of the file of a bridge's attempts and receipts."""
    return f"bridge.{bridge}.actions.json"


def bridge_limits(bridge: str) -> str:
    """Return the name of the file of what is known of the limits of a bridge's server."""
    return f"bridge.{bridge}.limits.json"


FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = 0o077
_WORKTREES = "worktrees"
_EDITED = frozenset({PLAN_TEXT, REVIEW})  # by people too; they keep the mode that they are given


def make_folder_private(fd: int, path: str) -> int:
    """Take the rights of others off an open folder if it is prloom's own, and return the descriptor."""
    if os.fstat(fd).st_mode & _OTHERS and is_private_folder(path):
        with suppress(OSError):  # it is another user's
            os.fchmod(fd, FOLDER_MODE)
    return fd


def make_file_private(fd: int, mode: int, folder: str, name: str) -> None:
    """Take the rights of others off an open file of that mode if it is prloom's own."""
    if mode & _OTHERS and name not in _EDITED and has_private_files(folder):
        with suppress(OSError):  # likewise
            os.fchmod(fd, FILE_MODE)


def is_private_folder(path: str) -> bool:
    """Whether a folder is prloom's own: all in a local folder, but of the worktrees in it no more than their roots."""
    below = _below_local(path)
    return below is not None and (below[:1] != [_WORKTREES] or len(below) <= len([_WORKTREES, "<plan>"]))


def has_private_files(path: str) -> bool:
    """Whether the files in a folder are prloom's own."""
    below = _below_local(path)
    return below is not None and below[:1] != [_WORKTREES]


def _below_local(path: str) -> list[str] | None:
    """Return the components below the innermost local folder of a path; None if the path is in none."""
    local = "/".join(("", *LOCAL, ""))
    _, found, below = f"{path}/".rpartition(local)
    if found:
        return [part for part in below.split("/") if part]
    return None
