"""Say what the sandbox of a run shows: its own folder, the objects of the repository, and nothing of prloom's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from prloom.agents import sandbox, sandbox_check
from prloom.agents.agent import Agent, RunRequest
from prloom.agents.sandbox import HomeFile, Sandbox
from prloom.config.sandbox import SandboxSection
from prloom.errors import AgentError
from prloom.model.kinds import CHECK
from prloom.model.own_folder import OWN_FOLDER
from prloom.workspace.repository import Repository


@dataclass(frozen=True)
class RunEnvironment:
    """What a run has around it: the repository that it works for, the folder of all worktrees, and the environment."""

    repo: Repository
    worktrees: Path
    environ: Mapping[str, str]


def of_run(
    rules: SandboxSection,
    agent: Agent,
    request: RunRequest,
    around: RunEnvironment,
    *,
    sockets: Path | None = None,
) -> Sandbox | None:
    """Return what a run of an agent sees; None where it has no sandbox, by the rules or as bubblewrap does not work.

    The folders of the agent's sessions are made if need be. `sockets` is the folder of the dispatcher's socket, for
    the run's own MCP server. Raises AgentError where a sandbox is required and cannot be had.
    """
    if rules.mode == "off":
        return None
    problem = sandbox_check.problem(around.environ)
    if problem is not None and rules.mode == "required":
        raise AgentError(f'{problem}, or set mode = "auto" under [sandbox]')
    if problem is not None:
        return None
    _make_folders(agent.home_files, around.environ)
    home = str(sandbox.home_folder(around.environ))
    own_home = ""
    if Path(home).is_dir():
        own_home = home
    hidden = [str(around.repo.root), str(around.repo.git_dir), str(around.worktrees)]
    read, write = list(_objects(around.repo)), []
    if request.rights == "work":
        write.append(str(request.cwd))
    else:
        read.append(str(request.cwd))
        hidden += [str(request.cwd / each) for each in (OWN_FOLDER, ".git")]
    if request.answer_path is not None:
        read.append(str(request.answer_path.parent))
        write.append(str(request.answer_path))
    if sockets is not None:
        read.append(str(sockets))
    return Sandbox(
        home=own_home,
        hidden=tuple(each for each in hidden if Path(each).is_dir()),
        read=(*read, *_expanded(rules.read, home)),
        write=(*write, *_expanded(rules.write, home)),
        network=request.stage != CHECK or rules.network == "on",
    )


def _make_folders(files: Iterable[HomeFile], environ: Mapping[str, str]) -> None:
    """Make the folders below HOME in which a program keeps its sessions, if it is set up there."""
    home = sandbox.home_folder(environ)
    for each in files:
        folder = home / each.path
        if each.access == "write" and each.path.endswith("/") and folder.parent.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def _objects(repo: Repository) -> tuple[str, ...]:
    """Return the folders of git's objects: the repository's, and those that it has borrowed."""
    found: dict[str, None] = {}
    ahead = [repo.git_dir / "objects"]
    while ahead:
        folder = ahead.pop()
        if str(folder) in found:
            continue
        found[str(folder)] = None
        try:
            lines = (folder / "info" / "alternates").read_bytes().splitlines()
        except OSError:
            continue
        ahead += [folder / os.fsdecode(line) for line in lines if line and not line.startswith(b"#")]
    return tuple(found)


def _expanded(paths: Iterable[str], home: str) -> Iterable[str]:
    for path in paths:
        if path == "~" or path.startswith("~/"):
            yield home + path[1:]
        else:
            yield path
