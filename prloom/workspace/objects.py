"""Read git's objects and refs with GitPython, of which every command is started as all of prloom's git processes are.

Only what adopts or checks a worktree needs this module: to import GitPython takes 80 ms. GitPython reads objects with
SHA-1 ids, and refs that are files; `entries` has git list the trees of a repository with SHA-256 ids.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import git as hardened


@contextmanager
def _without_a_process() -> Iterator[None]:
    """Keep GitPython from starting `git version` while it is imported: the program that it is told to start is none."""
    steered = {"GIT_PYTHON_GIT_EXECUTABLE": os.devnull, "GIT_PYTHON_REFRESH": "quiet"}
    before = {name: os.environ.get(name) for name in steered}
    os.environ.update(steered)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


with _without_a_process():
    from git import Git, GitCmdObjectDB, Repo, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prloom.workspace.repository import Repository

_BRANCHES = ("refs/heads/", "refs/remotes/origin/")
_KINDS = {0o120000: "symbolic link", 0o160000: "submodule", 0o040000: "folder"}
_SHA1_LENGTH = 40
_ANY_CODE = range(-255, 256)


class TreeEntry(NamedTuple):
    """One name in a folder of a commit, and what it stands for."""

    kind: str
    sha: str
    name: str


class HardenedGit(Git):
    """Run the commands of GitPython by `prloom.workspace.git`: hardened, within a time limit, and to their end.

    What GitPython asks for about the process itself (its environment, a shell, a stream to write to) is not heeded.
    """

    def __init__(self, working_dir: Path) -> None:
        super().__init__(working_dir)
        self._working_dir = str(working_dir)  # and not with what looks like a variable in it replaced

    def execute(  # type: ignore[override]  # of the forms that it has, those that give an answer
        self,
        command: Sequence[Any],
        istream: object = None,
        *,
        as_process: bool = False,
        with_extended_output: bool = False,
        with_exceptions: bool = True,
        stdout_as_string: bool = True,
        strip_newline_in_stdout: bool = True,
        **process_options: object,
    ) -> object:
        """Return what the command wrote, in the form that GitPython wants; raises WorkspaceError."""
        words = [str(word) for word in command[1:]]
        if as_process:
            process = _Process(lambda given: self._run(words, stdin=given), waits_for_input=istream is not None)
            return self.AutoInterrupt(process, command)  # type: ignore[arg-type]  # it has what is used of a Popen
        if with_exceptions and not with_extended_output:
            ended = self._run(words)
        else:
            ended = self._run(words, codes=_ANY_CODE)
        content = ended.content
        if strip_newline_in_stdout:
            content = content.removesuffix(b"\n")
        written: str | bytes = content
        if stdout_as_string:
            written = os.fsdecode(content)
        if with_extended_output:
            return ended.code, written, ""
        return written

    def get_object_header(self, ref: str | bytes) -> tuple[str, str, int]:
        """Return the id, the type and the size of an object."""
        return self._header(self._cat_file("--batch-check", ref))

    def stream_object_data(self, ref: str | bytes) -> tuple[str, str, int, Git.CatFileContentStream]:
        """Return the id, the type and the size of an object, and its content."""
        answer = self._cat_file("--batch", ref)
        sha, kind, size = self._header(answer)
        return sha, kind, size, self.CatFileContentStream(size, answer)

    def _header(self, answer: BytesIO) -> tuple[str, str, int]:
        return self._parse_object_header(cast("str", answer.readline()))  # it takes bytes, whatever its annotation says

    def _cat_file(self, option: str, ref: str | bytes) -> BytesIO:
        return BytesIO(self._run(["cat-file", option], stdin=self._prepare_ref(ref)).content)

    def _run(self, words: list[str], *, codes: Sequence[int] = (0,), stdin: bytes = b"") -> hardened.GitResult:
        return hardened.run(words, cwd=Path(str(self.working_dir)), codes=codes, stdin=stdin)


class HardenedRepo(Repo):
    """A repository as GitPython reads it, all of whose commands are run by `HardenedGit`.

    It is made of what prloom has found, while Repo's own way would go by the caller's GIT_DIR and its kin.
    """

    GitCommandWrapperType: type[Git] = HardenedGit

    def __init__(self, repository: Repository) -> None:
        self.git_dir = repository.git_dir
        self._common_dir = repository.git_dir
        self._working_tree_dir = self.working_dir = repository.root
        self._bare = False
        self.git = self.GitCommandWrapperType(repository.root)
        self.odb = GitCmdObjectDB(repository.git_dir / "objects", self.git)


class _Process:
    """What GitPython uses of a process: one that has ended, or one that ends as soon as it is given its input."""

    def __init__(self, run: Callable[[bytes], hardened.GitResult], *, waits_for_input: bool) -> None:
        self._run = run
        self.stdin = None
        self.stdout = BytesIO()
        self.stderr = BytesIO()
        if not waits_for_input:
            self.stdout = BytesIO(run(b"").content)

    def communicate(self, given: bytes) -> tuple[bytes, bytes]:
        return self._run(given).content, b""

    def poll(self) -> int:
        return 0

    def wait(self) -> int:
        return 0


def entries(repository: Repository, sha: str) -> tuple[TreeEntry, ...]:
    """Return what is in the top folder of a commit, or in a folder whose id is given; raises WorkspaceError."""
    if len(sha) != _SHA1_LENGTH:
        return _listed_by_git(repository, sha)
    repo = HardenedRepo(repository)
    tree = str(repo.git.rev_parse("--verify", f"{sha}^{{tree}}"))
    with _as_workspace_error(repository):
        return tuple(
            TreeEntry(_KINDS.get(each.mode, "file"), each.hexsha, str(each.path).rpartition("/")[2])
            for each in Tree(repo, bytes.fromhex(tree), path="")
        )


def branch_names(repository: Repository, *, most: int) -> frozenset[str]:
    """Return the names of local branches and of those that were fetched from origin."""
    with _as_workspace_error(repository):
        paths = [str(ref.path) for ref in islice(HardenedRepo(repository).references, most)]
    names = {path.removeprefix(prefix) for path in paths for prefix in _BRANCHES if path.startswith(prefix)}
    return frozenset(names - {"HEAD"})


def _listed_by_git(repository: Repository, sha: str) -> tuple[TreeEntry, ...]:
    answer = hardened.run(["ls-tree", "-z", "--full-tree", sha, "--"], cwd=repository.root)
    lines = [line.partition("\t") for line in answer.out.split("\0") if line]
    listed = [(about.split(" "), name) for about, _, name in lines]
    return tuple(TreeEntry(_KINDS.get(int(mode, 8), "file"), child, name) for (mode, _, child), name in listed)


@contextmanager
def _as_workspace_error(repository: Repository) -> Iterator[None]:
    """Make one WorkspaceError of whatever GitPython raises at files that it cannot read."""
    try:
        yield
    except WorkspaceError:
        raise
    except Exception as error:
        where = printable(str(repository.root))
        raise WorkspaceError(f"the repository in {where} cannot be read: {printable(str(error), 400)}") from error
