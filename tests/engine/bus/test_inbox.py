from __future__ import annotations

from pathlib import Path

import pytest

from prloom.core.plans.front_matter import FrontMatter
from prloom.engine.bus import inbox
from prloom.engine.bus.inbox import PlanDraft
from prloom.errors import PrloomError
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

QUEUED = "---\nstatus: queued\n---\n# Fast\n"


@pytest.fixture
def drafts(tmp_path: Path) -> SafeDir:
    return inbox.folder(SafeDir.make(tmp_path, "prloom", ".local"))


def test_a_draft_is_written_once_and_read_again(drafts: SafeDir):
    inbox.add(drafts, "fast", QUEUED)

    draft = inbox.read(drafts, "fast")
    assert draft is not None
    assert (draft.title, draft.queued, draft.error) == ("Fast", True, None)
    assert draft.front == FrontMatter(status="queued")
    with pytest.raises(PrloomError, match=r"there is a draft fast already; change it with `prloom edit fast`"):
        inbox.add(drafts, "fast", "# Other\n")


def test_the_inbox_is_private_to_its_owner(drafts: SafeDir):
    inbox.add(drafts, "fast", QUEUED)
    (Path(drafts.path) / "fast.md").chmod(0o644)

    inbox.read(drafts, "fast")

    assert Path(drafts.path).stat().st_mode & 0o777 == 0o700
    assert (Path(drafts.path) / "fast.md").stat().st_mode & 0o777 == 0o600


def test_a_draft_that_cannot_be_used_stays_and_says_why(drafts: SafeDir, tmp_path: Path):
    (Path(drafts.path) / "bad.md").write_text("---\nstatus: now\n---\n# Bad\n")
    (Path(drafts.path) / "My Plan.md").write_text("# Mine\n")
    (Path(drafts.path) / "link.md").symlink_to(tmp_path / "elsewhere.md")
    (Path(drafts.path) / "notes.txt").write_text("no draft\n")
    (Path(drafts.path) / ".hidden.md").write_text("an editor's\n")
    where = RepositoryPaths(tmp_path, tmp_path / "worktrees")

    found = {draft.id: draft for draft in inbox.every(where)}

    assert found.keys() == {"bad", "My Plan", "link"}
    assert "bad.md: the front matter has the status 'now' (line 2); write draft or queued" in str(found["bad"].error)
    assert found["bad"].title == "Bad"
    assert "'My Plan' is not a valid id for a plan" in str(found["My Plan"].error)
    assert "link.md" in str(found["link"].error)
    assert not any(draft.queued for draft in found.values())


def test_a_draft_that_is_too_long_is_neither_written_nor_read(drafts: SafeDir):
    with pytest.raises(PrloomError, match=r"fast\.md would have more than 1048576 bytes; shorten the plan"):
        inbox.add(drafts, "fast", "x" * (inbox.LONGEST + 1))
    (Path(drafts.path) / "long.md").write_bytes(b"x" * (inbox.LONGEST + 1))

    draft = inbox.read(drafts, "long")

    assert draft is not None
    assert "has more than 1048576 bytes" in str(draft.error)


def test_a_change_keeps_bytes_that_are_no_text(drafts: SafeDir):
    (Path(drafts.path) / "odd.md").write_bytes(b"# \xff\n")

    inbox.edit(drafts, "odd", lambda text: text + "more\n")

    assert (Path(drafts.path) / "odd.md").read_bytes() == b"# \xff\nmore\n"
    assert inbox.edit(drafts, "other", str) is None


def test_a_draft_leaves_with_the_text_that_it_has_then(drafts: SafeDir):
    inbox.add(drafts, "fast", QUEUED)
    inbox.put(drafts, "fast", "# Other\n")
    taken: list[str] = []

    inbox.move_out(drafts, "fast", lambda draft: taken.append(draft.text))

    assert taken == ["# Other\n"]
    assert inbox.ids(drafts) == ()


def test_a_draft_that_could_not_be_taken_stays(drafts: SafeDir):
    inbox.add(drafts, "fast", QUEUED)

    def fail(draft: PlanDraft) -> None:
        raise PrloomError(f"{draft.id} cannot be taken")

    with pytest.raises(PrloomError, match="fast cannot be taken"):
        inbox.move_out(drafts, "fast", fail)

    assert inbox.ids(drafts) == ("fast",)


def test_a_repository_without_an_inbox_has_no_drafts(tmp_path: Path):
    assert inbox.every(RepositoryPaths(tmp_path, tmp_path / "worktrees")) == ()


def test_what_was_noted_of_a_draft_is_gone_with_it(drafts: SafeDir, tmp_path: Path):
    where = RepositoryPaths(tmp_path, tmp_path / "worktrees")
    inbox.add(drafts, "fast", "# Fast\n")
    inbox.block(drafts, "fast", "ask the board")
    (blocked,) = inbox.every(where)
    assert blocked.block == "ask the board"

    inbox.move_out(drafts, "fast", lambda _: None)

    inbox.add(drafts, "fast", "# Fast\n")
    assert [draft.block for draft in inbox.every(where)] == [None]


def test_a_draft_that_cannot_be_used_says_that_and_not_what_was_noted_of_it(drafts: SafeDir, tmp_path: Path):
    inbox.add(drafts, "fast", "# Fast\n")
    inbox.block(drafts, "fast", "ask the board")
    inbox.put(drafts, "fast", "---\nbranch: [\n---\n# Fast\n")

    (draft,) = inbox.every(RepositoryPaths(tmp_path, tmp_path / "worktrees"))

    assert draft.error is not None
    assert draft.block is None


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"---\nstatus: queued\n---\n\n## TODO\n- [ ] One\n", inbox.NO_TITLE),
        (b"---\nstatus: queued\n---\n#  \n", inbox.NO_TITLE),
        (b"", inbox.NO_TITLE),
        (b"---\nstatus: queued\n---\n# \xff\xfe\n", inbox.NO_TEXT),
    ],
)
def test_a_draft_without_a_title_or_in_bytes_that_are_no_text_is_never_activated(
    drafts: SafeDir, content: bytes, error: str
):
    (Path(drafts.path) / "odd.md").write_bytes(content)

    draft = inbox.read(drafts, "odd")

    assert draft is not None
    assert (draft.queued, str(draft.error).endswith(f"odd.md: {error}")) == (False, True)
