"""What the system kept git from is told from what git refuses."""

from __future__ import annotations

import pytest

from prloom.workspace import git_errors
from prloom.workspace.git_errors import GitSystemError


@pytest.mark.parametrize(
    ("err", "code"),
    [
        ("fatal: write error: No space left on device\n", 128),
        ("error: unable to write file .git/objects/pack/x\nfatal: cannot fsync: Input/output error\n", 128),
        ("fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems to run.\n", 128),
        ("fatal: failed to read .git/worktrees/term1/commondir: Success\n", 128),
        ("fatal: Out of memory, malloc failed (tried to allocate 100 bytes)\n", 128),
        ("", -9),
    ],
)
def test_an_error_of_the_system_is_known_by_its_words(err: str, code: int) -> None:
    assert isinstance(git_errors.failed("git failed", code, err), GitSystemError)


@pytest.mark.parametrize(
    ("err", "code"),
    [
        ("error: object 1234: hasDotgit: contains '.git'\nfatal: fsck error in packed object\n", 128),
        ("fatal: pack has 1 unresolved delta\n", 128),
        ("fatal: early EOF\n", 128),
        ("fatal: attempting to allocate 600000000 over limit 536870912\n", 128),
        ("", -11),
    ],
)
def test_what_git_refuses_is_no_error_of_the_system(err: str, code: int) -> None:
    found = git_errors.failed("git failed", code, err)

    assert str(found) == "git failed"
    assert not isinstance(found, GitSystemError)
