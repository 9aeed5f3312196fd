"""All stories that the matrix breaks: the life of events, `prloom init`, locks, GitHub, work, and a pull request."""

from __future__ import annotations

import contextlib
import io
import logging
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import github_story
from pull_story import PULL
from story import CONFIG, LIFE, START, Story, clear, local_of, prepared
from work_story import WORK

from prloom.cli import main as cli
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.views import doctor
from prloom.errors import AlreadyRunningError, PrloomError
from prloom.storage import locks
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

# ---- prloom init


def _prepare_init() -> Path:
    root = Path(mkdtemp(prefix="prloom-init-"))
    quiet = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*quiet, "init", "--quiet", "--template="], cwd=root, check=True)
    subprocess.run([*quiet, "commit", "--quiet", "--allow-empty", "--message=begin"], cwd=root, check=True)
    (root / ".git/info").mkdir()
    (root / ".git/info/exclude").write_text("*.log")
    return root


def _tell_init(root: Path, telling: int) -> None:
    for _ in range(3):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            code = cli.run(cli.cli, ["-C", str(root), "init"])
        if "Traceback" in said.getvalue() or "a bug" in said.getvalue():
            logging.getLogger(__name__).error("a bug: %s", said.getvalue())
        if code == 0:
            return


def _wrong_init(root: Path) -> list[str]:
    found = []
    if (root / ".git/info/exclude").read_text() != "*.log\n/prloom/.local/\n":
        found.append(f"exclude: {(root / '.git/info/exclude').read_text()!r}")
    text = (root / "prloom.toml").read_text()
    if 'base_branch = "main"' not in text or not text.endswith("enabled = []\n"):
        found.append(f"prloom.toml: {text!r}")
    named = {
        f.where for f in doctor.findings(RepositoryPaths(root, root / "w"), datetime.now(UTC) + timedelta(hours=2))
    }
    ours = [path for path in (root / "prloom").rglob("*") if path.is_file()]
    around = (*root.glob("*"), *root.glob(".*"), *(root / ".git/info").iterdir(), *ours)
    known = {".git", "prloom.toml", "exclude", "prloom", "HEAD", "config-check.json"}
    odd = [path for path in around if path.name not in known and str(path) not in named]
    return found + [f"left behind, and doctor does not say so: {path}" for path in odd]


# ---- the locks


def _prepare_lock() -> Path:
    root = prepared()
    with SafeDir.make(root, "prloom", ".local"):
        return root


def _tell_lock(root: Path, telling: int) -> None:
    return


def _wrong_lock(root: Path) -> list[str]:
    """P9, and that nobody appends while somebody else has the folder's lock."""
    found = []
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")
    refused = contextlib.suppress(AlreadyRunningError)
    with SafeDir.make(root, "prloom", ".local") as local, DispatcherLock(local), refused:
        PlanRegistry(where, rules(CONFIG), lambda: START)
        found.append("P9: a second dispatcher has the repository")
    with SafeDir.make(local_of(root), "bus") as bus, locks.locked(bus):
        try:
            with locks.locked(bus, timeout=0.01):
                found.append("two writers have one folder's lock")
        except PrloomError:
            pass
    return found


INIT = Story(_prepare_init, _tell_init, _wrong_init, clear)
LOCKS = Story(_prepare_lock, _tell_lock, _wrong_lock, clear)
STORIES = {"life": LIFE, "init": INIT, "locks": LOCKS, "github": github_story.GITHUB, "work": WORK, "pull": PULL}
