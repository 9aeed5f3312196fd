"""Making a plan of a draft: with real git."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from project import Project
from stage import Stage

from prloom.core.plans import plan_file
from prloom.engine.adoption import activate
from prloom.engine.bus import inbox
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.operator import plan_texts
from prloom.engine.operator.plan_texts import NamedPlan
from prloom.errors import ConfigError, PrloomError
from prloom.model.plan import Plan
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository
from prloom.workspace.branches import OriginUnreadableError

TEXT = "---\nstatus: queued\nlabels: [speed]\n---\n# Make it fast\n\nWhy.\n\n## TODO\n- [ ] Drop the sleep\n"


class Inbox:
    """The inbox of a project, from which a test makes plans."""

    def __init__(self, project: Project, stage: Stage) -> None:
        self.project = project
        self.stage = stage
        self.folder = Path(project.root, "prloom/.local/inbox")

    def put(self, text: str = TEXT, plan_id: str = "fast") -> PlanDraft:
        with SafeDir.make(self.project.root, "prloom", ".local") as local, inbox.folder(local) as drafts:
            inbox.put(drafts, plan_id, text)
            found = inbox.read(drafts, plan_id)
        assert found is not None
        return found

    def activate(self, draft: PlanDraft) -> Plan:
        repo = repository.find(self.project.root)
        return activate.activate(repo, self.stage.config, draft, self.stage.clock())

    @property
    def notes(self) -> list[str]:
        folder = Path(self.project.root, "prloom/.local/activations")
        return [file.name for file in folder.iterdir()] if folder.exists() else []

    def local(self, plan_id: str = "fast") -> Path:
        return self.stage.local(plan_id)


@pytest.fixture
def box(project: Project, git_stage: Stage) -> Inbox:
    return Inbox(project, git_stage)


def test_a_queued_draft_becomes_a_plan_and_leaves_the_inbox(box: Inbox):
    plan = box.activate(box.put())

    assert (plan.id, plan.branch, plan.base, plan.title, plan.pr) == ("fast", "fast", "main", "Make it fast", None)
    assert json.loads((box.local() / "state.json").read_text())["base"] == "main"
    text = (box.local() / "plan.md").read_text()
    assert text.startswith("---\nlabels: [speed]\n---\n# Make it fast\n")
    assert [(todo.title, todo.id is None) for todo in plan_file.todos(text)] == [("Drop the sleep", False)]
    assert "## ready" in (box.local() / "review.md").read_text()
    assert box.project.git("rev-parse", "fast") == box.project.git("rev-parse", "main")
    assert box.project.git("branch", "--show-current", cwd=box.stage.paths.worktree("fast")) == "fast"
    assert list(box.folder.iterdir()) == []
    assert box.notes == []
    assert box.project.git("status", "--porcelain") == ""


@pytest.fixture
def origin(box: Inbox, tmp_path: Path) -> Path:
    """A remote of the project."""
    made = tmp_path / "origin.git"
    box.project.git("clone", "--quiet", "--bare", str(box.project.root), str(made))
    box.project.git("remote", "add", "origin", str(made))
    return made


def commit(box: Inbox, base: str = "main") -> str:
    tree = box.project.git("rev-parse", "main^{tree}")
    return box.project.git("commit-tree", tree, "-p", base, "-m", "theirs")


def test_a_branch_begins_from_the_base_as_origin_has_it_now(box: Inbox, origin: Path):
    box.project.git("fetch", "--quiet", "origin")
    newer = commit(box)
    box.project.git("push", "--quiet", str(origin), f"{newer}:refs/heads/main")
    assert box.project.git("rev-parse", "origin/main") != newer

    box.activate(box.put())

    assert box.project.git("rev-parse", "fast") == newer


def test_a_branch_begins_from_the_local_base_where_origin_has_none(box: Inbox, origin: Path):
    newer = commit(box)
    box.project.git("update-ref", "refs/heads/next", newer)
    box.project.git("update-ref", "refs/remotes/origin/next", "main")

    box.activate(box.put("---\nstatus: queued\nbase: next\n---\n# x\n"))

    assert box.project.git("rev-parse", "fast") == newer


def test_a_base_that_was_deleted_at_origin_and_is_not_here_is_none(box: Inbox, origin: Path):
    box.project.git("update-ref", "refs/remotes/origin/next", "main")

    with pytest.raises(PrloomError) as raised:
        box.activate(box.put("---\nstatus: queued\nbase: next\n---\n# x\n"))

    assert str(raised.value) == (
        "there is no branch next to begin from, neither here nor at origin; name another one as `base:`"
    )


def test_a_branch_of_a_repository_without_a_remote_begins_from_what_was_fetched(box: Inbox):
    newer = commit(box)
    box.project.git("update-ref", "refs/remotes/origin/main", newer)

    box.activate(box.put())

    assert box.project.git("rev-parse", "fast") == newer


def test_the_front_matter_names_branch_base_and_preset(box: Inbox):
    box.stage.configure("[presets.careful]\n")
    box.project.git("branch", "next")

    plan = box.activate(box.put("---\nstatus: queued\nbranch: perf/fast\nbase: next\npreset: careful\n---\n# x\n"))

    assert (plan.branch, plan.base, plan.preset) == ("perf/fast", "next", "careful")
    assert (box.local() / "plan.md").read_text().startswith("---\nbranch: perf/fast\n")


@pytest.mark.parametrize("ref", ["refs/heads/fast", "refs/remotes/origin/fast"])
def test_a_branch_that_is_there_already_is_left_alone(box: Inbox, ref: str):
    box.project.git("update-ref", ref, "main")
    where = "here" if "heads" in ref else "at origin"

    with pytest.raises(PrloomError) as raised:
        box.activate(box.put())

    assert str(raised.value) == (
        f"there is a branch fast {where} already; look after it with `prloom adopt --branch fast`, "
        "or give the draft another `branch:`"
    )
    assert (box.folder / "fast.md").read_text() == TEXT
    assert box.notes == []


def test_a_new_branch_knows_nothing_of_an_earlier_one_of_its_name(box: Inbox):
    box.project.git("update-ref", "refs/prloom/remote/fast", "main")

    box.activate(box.put())

    assert box.project.git("for-each-ref", "refs/prloom") == ""


def test_origin_is_asked_whether_it_has_the_branch(box: Inbox, origin: Path):
    box.project.git("push", "--quiet", "origin", "main:refs/heads/fast")
    box.project.git("update-ref", "-d", "refs/remotes/origin/fast")

    with pytest.raises(PrloomError, match="there is a branch fast at origin already"):
        box.activate(box.put())


@pytest.mark.parametrize("there", ["perf", "perf/fast/er"])
def test_origin_is_asked_whether_it_has_a_branch_beside_which_git_cannot_have_it(box: Inbox, origin: Path, there: str):
    box.project.git("push", "--quiet", str(origin), f"main:refs/heads/{there}", "main:refs/heads/a/perf/fast")

    with pytest.raises(PrloomError) as raised:
        box.activate(box.put("---\nstatus: queued\nbranch: perf/fast\n---\n# x\n"))

    assert str(raised.value) == (
        f"git cannot have a branch perf/fast beside {there}, which is at origin; give the draft another `branch:`"
    )


def test_a_base_that_cannot_be_fetched_makes_no_branch(box: Inbox, tmp_path: Path):
    box.project.git("remote", "add", "origin", str(tmp_path / "nowhere.git"))

    with pytest.raises(OriginUnreadableError, match=r"the base main cannot be fetched from origin: .*nowhere"):
        box.activate(box.put())

    assert box.project.git("branch", "--list", "fast") == ""
    assert (box.folder / "fast.md").read_text() == TEXT
    assert box.notes == []


@pytest.mark.parametrize(
    ("front", "error"),
    [
        ("branch: main", "branch main is also the plan's base; choose another `branch:`"),
        (
            "branch: work/sub",
            "git cannot have a branch work/sub beside work, which is here; give the draft another `branch:`",
        ),
        (
            "branch: perf",
            "git cannot have a branch perf beside perf/old, which is here; give the draft another `branch:`",
        ),
        ("base: nowhere", "there is no branch nowhere to begin from, neither here nor fetched from origin"),
        ("preset: nowhere", "nowhere"),
    ],
)
def test_a_draft_that_cannot_become_a_plan_stays_as_it_is(box: Inbox, front: str, error: str):
    text = f"---\nstatus: queued\n{front}\n---\n# x\n"
    box.project.git("branch", "perf/old")

    with pytest.raises((PrloomError, ConfigError), match=error):
        box.activate(box.put(text))

    assert (box.folder / "fast.md").read_text() == text
    assert box.project.git("branch", "--list", "fast") == ""
    assert box.notes == []


def test_a_draft_with_the_name_of_a_plan_is_refused_and_stays(box: Inbox):
    box.activate(box.put())

    with pytest.raises(PrloomError, match="plan fast already exists, for branch fast; give the draft another name"):
        box.activate(box.put())

    assert (box.folder / "fast.md").exists()


def test_what_was_written_into_the_draft_while_it_became_a_plan_is_in_the_plan(box: Inbox):
    draft = box.put()
    box.put(TEXT.replace("Why.", "Why not?") + "- [ ] More\n")

    box.activate(draft)

    text = (box.local() / "plan.md").read_text()
    assert "Why not?" in text
    assert [todo.title for todo in plan_file.todos(text)] == ["Drop the sleep", "More"]
    assert list(box.folder.iterdir()) == []
    assert box.notes == []


def test_the_todos_of_a_draft_are_brought_over_also_where_the_plan_was_changed_at_the_same_lines(box: Inbox):
    draft = box.put()
    box.activate(draft)
    notes = Path(box.project.root, "prloom/.local/activations")
    note = {"branch": "fast", "base": "main", "sha": "0", "text": TEXT, "createdAt": "2026-01-01T00:00:00Z"}
    (notes / "fast.json").write_text(json.dumps(note))  # as if it had been killed before the draft left
    plan = box.local() / "plan.md"
    plan.write_text(plan.read_text() + "- [ ] Mine\n")

    box.activate(box.put(TEXT + "- [ ] More\n"))

    assert [todo.title for todo in plan_file.todos(plan.read_text())] == ["Drop the sleep", "Mine", "More"]
    assert [file.name for file in box.folder.iterdir()] == ["fast.edited"]


def test_a_todo_for_a_draft_that_has_become_a_plan_meanwhile_is_added_to_the_plan(box: Inbox):
    draft, named = box.put(), NamedPlan("fast", is_draft=True)
    box.activate(draft)

    plan_texts.add_todo(box.stage.paths, named, "More", "")

    assert [todo.title for todo in plan_file.todos((box.local() / "plan.md").read_text())] == ["Drop the sleep", "More"]


def test_a_draft_that_was_edited_after_a_crash_becomes_the_plan_as_it_is_now(box: Inbox):
    box.activate(box.put())
    (box.local() / "state.json").unlink()
    notes = Path(box.project.root, "prloom/.local/activations")
    sha = box.project.git("rev-parse", "main")
    (notes / "fast.json").write_text(
        json.dumps({"branch": "fast", "base": "main", "sha": sha, "text": "old", "createdAt": "2026-01-01T00:00:00Z"})
    )

    box.activate(box.put(TEXT + "- [ ] More\n"))

    assert "More" in (box.local() / "plan.md").read_text()
    assert box.notes == []


def test_notes_without_a_draft_are_taken_away(box: Inbox):
    draft = box.put()
    notes = Path(box.project.root, "prloom/.local/activations")
    notes.mkdir(mode=0o700)
    for name in ("fast.json", "gone.json"):
        (notes / name).write_text("{}")

    with SafeDir.make(box.project.root, "prloom", ".local") as local:
        activate.forget_ended(local)

    assert box.notes == ["fast.json"]
    assert draft.queued


def test_a_draft_that_is_paused_before_its_plan_was_begun_stays(box: Inbox):
    draft = box.put()
    box.put(TEXT.replace("queued", "draft"))

    with pytest.raises(PrloomError, match="draft fast is not queued any more"):
        box.activate(draft)

    assert (box.folder / "fast.md").exists()
    assert box.notes == []
