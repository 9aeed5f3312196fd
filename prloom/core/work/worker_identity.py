"""The name under which a worker's own git makes commits and moves refs in the repository that prloom works for.

The reflog of a ref says who has moved it (git-reflog(1)), and by this name what a worker did is told from what a person
did at the same time. Git reads it from a file that holds for this one repository, so that other repositories, such as
those that a project's tests create, do not notice.
"""

from __future__ import annotations

EMAIL = "worker@prloom.invalid"
"""The address of the worker, which receives no mail (RFC 2606)."""

FILE = "prloom/.local/worker.gitconfig"
"""The file of git's configuration with that name, below the checkout that prloom works for."""

CONTENT = f"[committer]\n\tname = prloom worker\n\temail = {EMAIL}\n"
"""What the file says."""


def setting(root: str) -> tuple[str, str]:
    """Return the setting of git that includes the file, for the repository whose main checkout is at `root`."""
    return f"includeIf.gitdir:{root}/.git/.path", f"{root}/{FILE}"


def is_in(reflog_line: bytes) -> bool:
    """Whether a line of a reflog says that a worker has moved the ref."""
    return f"<{EMAIL}> ".encode() in reflog_line.partition(b"\t")[0]
