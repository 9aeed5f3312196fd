"""`prloom new`, `prloom edit` and `prloom queue`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.cli import main


def draft(stage: Stage, plan_id: str = "make-it-fast") -> str:
    return (stage.root / f"prloom/.local/inbox/{plan_id}.md").read_text()


@pytest.fixture
def editor(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have an editor that runs some Python on `text`, and on `path`, the repository."""

    def use(code: str) -> None:
        program = stage.root / "editor.py"
        program.write_text(
            "import os, sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
            f"path = pathlib.Path({str(stage.root)!r})\n{code}\nfile.write_text(text)\nos.utime(file, (1, 1))\n"
        )
        monkeypatch.setenv("EDITOR", f"python3 {program}")

    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    return use


def test_a_file_that_says_that_it_is_queued_is_queued(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "plan.txt").write_text("---\nstatus: queued\n---\n# Make it fast\n\n## TODO\n- [ ] one\n")

    ran = prloom("new", "--file", str(stage.root / "plan.txt"))

    assert ran.out.startswith("Queued make-it-fast: the dispatcher makes its branch and worktree.\n")


def test_a_queued_plan_without_a_todo_is_said_to_wait_for_one(stage: Stage, prloom: Prloom) -> None:
    assert prloom("new", "Make it fast", "--queue").out.startswith(
        "Queued make-it-fast: it waits for a TODO, which `prloom todo make-it-fast add TEXT` adds.\n"
    )


def test_a_title_makes_a_draft_that_waits(stage: Stage, prloom: Prloom) -> None:
    ran = prloom("new", "Make it fast!")

    assert draft(stage) == "---\nstatus: draft\n---\n# Make it fast!\n\n## TODO\n"
    assert ran.out.startswith("Drafted make-it-fast.\n")
    assert "prloom queue make-it-fast" in ran.out
    (plan,) = json.loads(prloom("status", "--json").out)["plans"]
    assert (plan["id"], plan["status"], plan["title"]) == ("make-it-fast", "draft", "Make it fast!")


def test_the_status_of_one_draft_is_shown_by_its_id(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "Make it fast!")
    stage.adopt()

    shown = prloom("status", "make-it-fast")
    (plan,) = json.loads(prloom("status", "make-it-fast", "--json").out)["plans"]

    assert (shown.code, shown.err) == (0, "")
    assert "make-it-fast" in shown.out
    assert "pr-7" not in shown.out
    assert (plan["id"], plan["status"]) == ("make-it-fast", "draft")
    assert prloom("status", "make-it-slow").err == "prloom: no plan make-it-slow; did you mean make-it-fast?\n"
    assert prloom("status", "zzz").err == ("prloom: no plan zzz; the plans are pr-7, and the drafts are make-it-fast\n")


def test_a_draft_from_a_file_keeps_its_front_matter_and_takes_what_the_command_says(
    stage: Stage, prloom: Prloom
) -> None:
    stage.configure("[presets.careful]\n")
    subprocess.run(["git", "branch", "next"], cwd=stage.root, check=True)
    file = stage.root / "plan.md"
    file.write_text("---\nreviewers: [ann]\nbranch: slow\n---\n# Fast\n\nWhy.\n\n## TODO\n- [ ] a\n")

    options = ("--plan", "quick", "--branch", "perf/quick", "--base", "next", "--preset", "careful", "--queue")
    ran = prloom("new", "--file", str(file), *options)

    assert ran.code == 0
    assert draft(stage, "quick") == (
        "---\nstatus: queued\nbranch: perf/quick\nbase: next\npreset: careful\nreviewers: [ann]\n---\n"
        "# Fast\n\nWhy.\n\n## TODO\n- [ ] a\n"
    )
    assert ran.out.startswith("Queued quick:")


def test_a_plan_may_come_from_stdin_and_get_its_title_from_the_command(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "Make it fast", "--file", "-", stdin="Because.\n")

    assert draft(stage).endswith("---\n# Make it fast\n\nBecause.\n")


def test_two_plans_with_one_title_have_different_ids(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "Make it fast")
    prloom("new", "Make it fast")

    assert draft(stage, "make-it-fast-2").endswith("# Make it fast\n\n## TODO\n")


@pytest.mark.parametrize(
    ("args", "stdin", "error"),
    [
        (["x", "--plan", "pr-7"], "", "there is a plan pr-7 already; choose another --plan"),
        (["x", "--plan", "A B"], "", "'A B' is not a valid id for a plan"),
        (["x", "--branch", "main"], "", "branch main is also the plan's base; choose another `branch:`"),
        (["x", "--branch", "HEAD"], "", "names 'HEAD', which is not a valid name for a branch"),
        (["x", "--branch=--force"], "", "names '--force', which is not a valid name for a branch"),
        (["x", "--preset", "odd"], "", "odd"),
        (["--file", "-"], "words\n", "the plan has no title; begin it with a line such as `# Make it fast`"),
        (["--file", "-"], "---\nstate: x\n---\n# t\n", "has the unknown key 'state' (line 2); did you mean status?"),
        (["--file", "/nowhere/plan.md"], "", "/nowhere/plan.md cannot be read: No such file or directory"),
        (["x", "--base", "nosuch", "--queue"], "", "there is no branch nosuch to begin from"),
        (["--file", "/dev/zero"], "", "/dev/zero cannot be read: It is neither a file nor a pipe; name another file"),
        (["--file", "/tmp"], "", "/tmp cannot be read: Is a directory; name another file"),
        (["--file", "-"], "# t\n" + "x" * (1 << 20), "stdin has more than 1048576 bytes; name another file"),
    ],
)
def test_what_could_not_become_a_plan_is_not_written(
    stage: Stage, refused: Refusal, args: list[str], stdin: str, error: str
) -> None:
    stage.adopt()

    told = refused("new", *args, stdin=stdin)

    assert error in told
    assert told.count("\n") == 1
    assert not list((stage.root / "prloom/.local").glob("inbox/*"))


def test_of_what_is_piped_in_no_more_is_read_than_a_plan_may_have(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = BytesIO(b"x" * (1 << 21))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=piped))

    assert main.run(main.cli, ["-C", str(stage.root), "new", "--file", "-"]) == 1

    assert piped.tell() == (1 << 20) + 1


@pytest.mark.parametrize(
    ("content", "line"), [(b"# t\n\ncaf\xe9\n", 3), ("# t\n".encode("utf-16"), 1)], ids=["latin-1", "utf-16"]
)
def test_a_file_that_is_not_utf_8_makes_no_plan(stage: Stage, prloom: Prloom, content: bytes, line: int) -> None:
    file = stage.root / "plan.md"
    file.write_bytes(content)

    ran = prloom("new", "--file", str(file))

    assert (ran.code, ran.err) == (1, f"prloom: {file} is not UTF-8 (line {line}); save it as UTF-8\n")
    assert not list((stage.root / "prloom/.local").glob("inbox/*"))


def test_what_an_editor_saves_in_another_encoding_is_kept_and_not_taken(
    stage: Stage, prloom: Prloom, refused: Refusal, editor: Callable[[str], None]
) -> None:
    prloom("new", "Make it fast")
    before = draft(stage)
    editor("file.write_bytes(b'# caf\\xe9\\n'); os.utime(file, (1, 1)); sys.exit()")

    told = refused("edit", "make-it-fast")

    assert told.startswith("prloom: what you wrote is not UTF-8 (line 1); save it as UTF-8; it is in ")
    kept = Path(told.rpartition(" is in ")[2].strip())
    assert kept.read_bytes() == b"# caf\xe9\n"
    kept.unlink()
    assert draft(stage) == before


def test_without_a_title_the_plan_is_written_in_the_editor(
    stage: Stage, prloom: Prloom, editor: Callable[[str], None]
) -> None:
    assert "name a TITLE, or give the plan with --file" in prloom("new").err

    editor("text = text.replace('# ', '# Make it fast', 1)")
    assert prloom("new").code == 0

    assert "# Make it fast\n" in draft(stage)


def test_an_editor_that_writes_nothing_makes_no_plan(
    stage: Stage, prloom: Prloom, editor: Callable[[str], None]
) -> None:
    editor("pass")

    assert "nothing was written, so there is no new plan" in prloom("new").err


def test_a_draft_is_edited_and_what_is_wrong_with_it_is_said(
    stage: Stage, prloom: Prloom, editor: Callable[[str], None]
) -> None:
    prloom("new", "Make it fast")
    editor("text = text.replace('status: draft', 'status: now')")

    ran = prloom("edit", "make-it-fast")

    assert "status: now" in draft(stage)
    assert "make-it-fast.md: the front matter has the status 'now' (line 2); write draft or queued" in ran.err
    assert "correct it with `prloom edit make-it-fast`" in ran.out
    editor("pass")
    assert prloom("edit", "make-it-fast").out == "Nothing was changed.\n"


def test_what_prloom_writes_while_a_plan_is_edited_is_merged(
    stage: Stage, prloom: Prloom, editor: Callable[[str], None]
) -> None:
    plan = stage.adopt() / "plan.md"
    plan.write_bytes(b"# Fast\r\n\r\nWhy.\r\n\r\n## TODO\r\n\r\n- [ ] a\r\n- [ ] b\r\n")
    editor(
        "other = path / 'prloom/.local/worktrees/pr-7/prloom/.local/plan.md'\n"
        "other.write_bytes(other.read_bytes().replace(b'- [ ] a', b'- [x] a'))\n"
        "text = text.replace('Why.', 'Because.').replace('- [ ] b', '- [ ] c')"
    )

    assert prloom("edit", "pr-7").out == "Saved: pr-7.\n"

    assert plan.read_bytes() == b"# Fast\r\n\r\nBecause.\r\n\r\n## TODO\r\n\r\n- [x] a\r\n- [ ] c\r\n"


def test_a_change_of_the_same_line_keeps_both_texts(
    stage: Stage, prloom: Prloom, editor: Callable[[str], None]
) -> None:
    plan = stage.adopt() / "plan.md"
    plan.write_text("# Fast\n")
    editor("next(path.rglob('pr-7/prloom/.local/plan.md')).write_text('# Slow\\n'); text = '# Quick\\n'")

    ran = prloom("edit", "pr-7")

    assert "plan pr-7 was changed at the same lines while you edited it; your text is in " in ran.err
    assert plan.read_text() == "# Slow\n"
    assert (stage.root / "prloom/.local/inbox/pr-7.edited").read_text() == "# Quick\n"


def test_drafts_are_queued_and_plans_are_not(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "One")
    prloom("new", "Two")
    stage.adopt()

    assert prloom("queue", "one", "two").out == "Queued one.\nQueued two.\n"
    assert prloom("queue", "one").out == "Nothing changed: one is queued already.\n"
    assert prloom("resume", "one").out == "Nothing changed: one is queued already.\n"

    assert draft(stage, "one").startswith("---\nstatus: queued\n---\n")
    assert draft(stage, "two").startswith("---\nstatus: queued\n---\n")
    assert "plan pr-7 is not a draft: it already has a branch" in prloom("queue", "pr-7").err
    assert "the drafts are one, two" in prloom("queue", "three").err


def test_a_draft_that_could_not_become_a_plan_is_not_queued(stage: Stage, prloom: Prloom, refused: Refusal) -> None:
    prloom("new", "One")
    file = Path(stage.root, "prloom/.local/inbox/one.md")
    file.write_text("---\nbranch: main\n---\n# One\n")

    assert "one.md: branch main is also the plan's base; choose another `branch:`" in refused("queue", "one")
    assert file.read_text() == "---\nbranch: main\n---\n# One\n"


def test_a_draft_is_given_up_and_its_text_is_kept(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "One")

    ran = prloom("forget", "one")

    assert ran.out.startswith("Draft one is given up. Its text is in ")
    assert json.loads(prloom("status", "--json").out)["plans"] == []
    (kept,) = stage.root.glob("prloom/.local/inbox/*")
    assert kept.read_text().endswith("# One\n\n## TODO\n")


@pytest.fixture
def designer(stage: Stage) -> Callable[[str], Path]:
    """Have a designer that answers with this text, and keeps its prompt in a file."""

    def use(answer: str) -> Path:
        program, prompt = stage.root / "designer.py", stage.root / "prompt.txt"
        program.write_text(
            f"import pathlib, sys\npathlib.Path({str(prompt)!r}).write_text(sys.stdin.read())\nprint({answer!r})\n"
        )
        argv = json.dumps([sys.executable, str(program)])
        plugins = '[plugins]\nisolation = "inline"\n'
        stage.configure(f'[stages]\ndesigner = "command"\n[agents.command]\nargv = {argv}\n{plugins}')
        return prompt

    return use


def test_an_agent_writes_the_plan_for_what_is_wanted(
    stage: Stage, prloom: Prloom, designer: Callable[[str], Path]
) -> None:
    plan = "# Make greet() fast\n\nIt sleeps.\n\n## TODO\n\n- [ ] Drop the sleep\n  In greet.py.\n"
    prompt = designer(f"Here it is:\n\n```markdown\n---\npreset: reckless\n---\n{plan}```")

    ran = prloom("new", "Greeting takes too long", "--design", "--queue")

    assert ran.err == ""
    assert draft(stage, "make-greet-fast") == f"---\nstatus: queued\n---\n{plan}"
    assert "Greeting takes too long" in prompt.read_text()
    assert "## TODO\n-----END" not in prompt.read_text()


def test_an_agent_changes_a_plan_and_leaves_its_front_matter(
    stage: Stage, prloom: Prloom, designer: Callable[[str], Path]
) -> None:
    prloom("new", "Fast", "--base", "next")
    prompt = designer("# Fast\n\n## TODO\n- [ ] Measure\n")

    prloom("edit", "fast", "--design", "--request", "Measure first.")

    assert draft(stage, "fast") == "---\nstatus: draft\nbase: next\n---\n# Fast\n\n## TODO\n- [ ] Measure\n"
    assert "Measure first." in prompt.read_text()
    assert "base: next" not in prompt.read_text()
    assert "--request belongs to --design" in prloom("edit", "fast", "--request", "x").err


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("I cannot.", "the designer's answer has no plan: it has no line such as `# <title>`"),
        ("# Fast\n\nDo it.\n", "the designer's answer has no TODO: it has no `- [ ]` item under `## TODO`"),
    ],
)
def test_an_answer_that_is_no_plan_makes_none(
    stage: Stage, prloom: Prloom, designer: Callable[[str], Path], answer: str, error: str
) -> None:
    designer(answer)

    assert error in prloom("new", "Fast", "--design").err
    assert not list((stage.root / "prloom/.local").glob("inbox/*"))


def test_a_draft_that_cannot_become_a_plan_needs_a_person_once(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "One")
    Path(stage.root, "prloom/.local/inbox/one.md").write_text("---\nstatus: soon\n---\n# One\n")

    shown = prloom("status").out

    assert "Needs you (1)" in shown
    assert shown.count("write draft or queued") == 1
    assert "`prloom edit one`" in shown
