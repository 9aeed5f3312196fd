"""A remote of the workbench's project, and somebody else who works on the same branch."""

from __future__ import annotations

from pathlib import Path

from workbench import Workbench


class Remote:
    """A remote of the project, and the clone of somebody else who works on the same branch."""

    def __init__(self, bench: Workbench, home: Path) -> None:
        self.bench = bench
        self.bare, self.clone = home / "remote.git", home / "clone"
        bench.project.git("init", "--quiet", "--bare", "--template=", str(self.bare))
        bench.project.git("remote", "add", "origin", str(self.bare))
        bench.project.git("push", "--quiet", "origin", "main", "work")
        bench.project.git("clone", "--quiet", "--template=", "--branch", "work", str(self.bare), str(self.clone))

    def push(self, name: str, content: str, *options: str) -> str:
        """Have the other person push a commit with a file, and return it."""
        (self.clone / name).write_text(content)
        self.bench.project.git("add", name, cwd=self.clone)
        self.bench.project.git("commit", "--quiet", "-m", f"Change {name}", cwd=self.clone)
        self.bench.project.git("push", "--quiet", *options, "origin", "work", cwd=self.clone)
        return self.bench.project.git("rev-parse", "HEAD", cwd=self.clone)

    @property
    def commit(self) -> str:
        """A shell command by which the branch gets one more commit on the remote, of somebody else."""
        git = f'git --git-dir="{self.bare}" -c user.name=Bob -c user.email=bob@example.org'
        return f'{git} update-ref refs/heads/work $({git} commit-tree -p work -m Other "work^{{tree}}")'

    @property
    def subjects(self) -> list[str]:
        """The subjects of the remote's branch, oldest first, without the first commit."""
        return self.bench.project.git("log", "--reverse", "--format=%s", "main..work", cwd=self.bare).splitlines()
