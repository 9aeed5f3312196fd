"""A git repository with a branch to look after, an agent of the test's own, and the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

import command_server
import environment
from command_server import ForkedProcess

AGENT = """
import json, re, sys
prompt = sys.stdin.read()
ids = [json.loads(found) for found in re.findall(r"^id: (.*)$", prompt, re.M)]
items = [{"eventId": i, "verdict": "todo", "reply": "On it."} for i in ids]
todos = [{"title": f"Do what {i} asks", "context": "as asked", "eventIds": [i]} for i in ids]
open(__file__ + ".runs", "a").write("run\\n")
print("Let me think {about} it.\\n" + json.dumps({"items": items, "todos": todos, "rebaseRequested": False}))
"""


PLAN = "work"
"""The branch to look after, and so the plan."""
INLINE = "PRLOOM_PLUGINS__ISOLATION"
"""Python is started for each plugin that has a process of its own: most of what a short run of prloom costs."""


class Repository:
    """A git repository with a branch to look after, and the real command."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.agent = home / "agent.py"
        self.agent.write_text(AGENT)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PRLOOM_HOME": str(home / "prloom"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            INLINE: "inline",
            **environment.CERTIFICATES,
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},  # which build is under test
        }
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        for key in ("user.name", "user.email"):
            self.git("config", key, "t@example.invalid")
        self.git("commit", "--quiet", "--allow-empty", "--message=begin")
        self.git("branch", PLAN)

    def git(self, *args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        ).stdout

    def configure(self, text: str = "", *, work: str = 'mode = "off"') -> None:
        """Write prloom.toml with the test's own agent, which works on TODOs only where `work` says so."""
        argv = json.dumps([*environment.AGENT_PYTHON, str(self.agent)])
        (self.root / "prloom.toml").write_text(
            f'[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n[work]\n{work}\n{text}'
        )

    def plugin(self, name: str, code: str) -> None:
        folder = self.root / "prloom" / "plugins"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(code)

    def isolate(self) -> None:
        """Give each plugin a process of its own, as prloom does where nobody says otherwise."""
        self.env.pop(INLINE)

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "prloom", *args]

    def run(
        self, *args: str, code: int = 0, stdin: str | None = None, limit: float = command_server.LIMIT
    ) -> subprocess.CompletedProcess[str]:
        """Run prloom in a process of its own and expect an exit code."""
        ended = command_server.run(args, cwd=self.root, env=self.env, stdin=stdin, limit=limit)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended

    def begin(self, *args: str, said: IO[bytes] | None = None) -> ForkedProcess:
        """Begin prloom in a process of its own, which the test ends; what it says goes into a file, if any."""
        return command_server.begin(args, cwd=self.root, env=self.env, said=said)

    def json(self, *args: str) -> Any:
        return json.loads(self.run(*args, "--json").stdout)

    def json_of_failure(self, *args: str) -> Any:
        """Return what a command that exits with 1 says."""
        return json.loads(self.run(*args, "--json", code=1).stdout)

    def plan(self) -> Mapping[str, Any]:
        """Return the one plan's part of the status document."""
        (plan,) = self.json("status")["plans"]
        return cast("Mapping[str, Any]", plan)

    @property
    def local(self) -> Path:
        return self.root.joinpath("prloom", ".local", "worktrees", PLAN, "prloom", ".local")

    @property
    def agent_runs(self) -> int:
        runs = self.agent.with_name("agent.py.runs")
        return len(runs.read_text().splitlines()) if runs.exists() else 0
