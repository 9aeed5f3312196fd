"""The afterDesign hooks of `prloom new --design` and `prloom edit --design`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_server
import executable
import pytest
import terminal_output
from command_line import Prloom
from stage import Stage

WRITTEN = "# Fast\n\n## TODO\n- [ ] Measure\n"


def draft(stage: Stage) -> str:
    return (stage.root / "prloom/.local/inbox/fast.md").read_text()


@pytest.fixture
def hook(stage: Stage) -> Callable[[str], None]:
    """Have a plugin with this code in its afterDesign hook, and a designer that writes the plan."""

    def use(code: str) -> None:
        program = stage.root / "designer.py"
        program.write_text(f"import sys\nprint('fine' if 'Is it' in sys.stdin.read() else {WRITTEN!r})\n")
        folder = stage.root / "prloom/plugins/looks"
        folder.mkdir(parents=True)
        (folder / "plugin.toml").write_text('name = "looks"\n')
        lines = "".join(f"        {line}\n" for line in code.splitlines())
        (folder / "__init__.py").write_text(
            f'def register(ctx):\n    @ctx.hook("afterDesign")\n    async def look(plan, ctx):\n{lines}'
        )
        argv = json.dumps([sys.executable, str(program)])
        plugins = '[plugins]\nhook_timeout = "5m"\nisolation = "inline"\nenabled = ["looks"]\n'
        stage.configure(f'[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n{plugins}')

    return use


def test_a_hook_may_change_what_the_designer_wrote_and_ask_an_agent(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    hook('said = await ctx.run_agent("Is it good?")\nreturn f"{plan}- [ ] {said.strip()} {ctx.plan_id}\\n"')

    ran = prloom("new", "Fast", "--design", "--plan", "fast")

    assert (ran.code, ran.err) == (0, "")
    assert draft(stage).endswith("- [ ] Measure\n- [ ] fine fast\n")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('ctx.block("ask the board")', "plugin looks: ask the board"),
        (
            'return await ctx.run_agent("Is it good?")',
            "plugin looks: afterDesign failed: it returned a text that is no",
        ),
    ],
)
def test_a_hook_that_fails_or_blocks_keeps_the_draft_from_being_queued(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None], code: str, reason: str
) -> None:
    hook(code)

    ran = prloom("new", "Fast", "--design", "--queue")

    assert (ran.code, draft(stage)) == (1, f"---\nstatus: draft\n---\n{WRITTEN}")
    assert reason in ran.err
    assert "correct it with `prloom edit fast`, then `prloom queue fast`" in ran.err
    assert "Traceback" not in ran.err


def shown(prloom: Prloom) -> Any:
    (plan,) = json.loads(prloom("status", "--json").out)["plans"]
    return plan


def test_status_shows_why_a_draft_was_kept_from_being_queued_until_that_is_corrected(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    hook('ctx.block("ask the board")')

    prloom("new", "Fast", "--design", "--queue")

    plan = shown(prloom)
    assert (plan["status"], plan["blocked"]) == ("draft", True)
    assert plan["block"]["reason"] == plan["lastError"] == "plugin looks: ask the board"
    assert plan["block"]["wayOn"] == "prloom edit fast"
    assert "plugin looks: ask the board" in prloom("status").out

    path = stage.root / "prloom/.local/inbox/fast.md"
    path.write_text(draft(stage) + "- [ ] Ask the board\n")

    assert (shown(prloom)["blocked"], shown(prloom)["block"]) == (False, None)


def test_a_draft_that_was_queued_once_is_not_blocked_by_what_a_hook_said_before(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    hook('ctx.block("ask the board")')
    prloom("new", "Fast", "--design")
    path = stage.root / "prloom/.local/inbox/fast.md"
    written = draft(stage)

    path.write_text(f"---\nstatus: queued\n---\n{WRITTEN}")
    by_hand = shown(prloom)
    path.write_text(written)
    assert prloom("queue", "fast").code == 0
    by_command = shown(prloom)
    path.write_text(written)

    for queued in (by_hand, by_command):
        assert (queued["status"], queued["blocked"]) == ("queued", False)
    assert (shown(prloom)["status"], shown(prloom)["blocked"]) == ("draft", False)


@pytest.mark.parametrize("note", ["{}", "{", "[]", '{"reason": "ask", "digest": 1}'])
def test_a_note_of_a_block_that_says_nothing_blocks_no_draft(stage: Stage, prloom: Prloom, note: str) -> None:
    prloom("new", "Fast")
    (stage.root / "prloom/.local/inbox/fast.block.json").write_text(note)

    assert (shown(prloom)["status"], shown(prloom)["blocked"]) == ("draft", False)


def test_a_draft_that_is_given_up_blocks_no_other_with_its_text(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    hook('ctx.block("ask the board")')
    prloom("new", "Fast", "--design")
    text = draft(stage)
    prloom("forget", "fast")

    (stage.root / "prloom/.local/inbox/fast.md").write_text(text)

    assert (shown(prloom)["blocked"], shown(prloom)["block"]) == (False, None)


def test_a_note_of_a_block_that_cannot_be_read_hides_no_other_draft(stage: Stage, prloom: Prloom) -> None:
    prloom("new", "Fast")
    prloom("new", "Small")
    (stage.root / "prloom/.local/inbox/fast.block.json").mkdir()

    fast, small = json.loads(prloom("status", "--json").out)["plans"]

    assert "fast.block.json is a folder" in fast["lastError"]
    assert (small["id"], small["blocked"]) == ("small", False)


def test_what_a_designer_wrote_is_kept_where_it_becomes_no_draft(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    prloom("new", "Fast", "--plan", "fast")
    hook("return plan")

    ran = prloom("new", "Fast", "--design", "--plan", "fast")

    (kept,) = (stage.root / "prloom/.local/designs").iterdir()
    assert ran.code == 1
    assert "there is a plan fast already" in ran.err
    assert f"what was written is in {kept}" in ran.err
    assert kept.read_text() == WRITTEN


def test_a_draft_that_was_queued_waits_again_where_a_hook_blocks_it(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    prloom("new", "Fast", "--queue")
    hook('ctx.block("ask the board")')

    ran = prloom("edit", "fast", "--design")

    assert (ran.code, draft(stage)) == (1, f"---\nstatus: draft\n---\n{WRITTEN}")
    assert "plugin looks: ask the board; the plan is saved" in ran.err
    assert (shown(prloom)["blocked"], shown(prloom)["block"]["reason"]) == (True, "plugin looks: ask the board")


def test_a_plan_is_blocked_where_a_hook_blocks_what_became_of_it(
    stage: Stage, prloom: Prloom, hook: Callable[[str], None]
) -> None:
    local = stage.adopt("fast")
    Path(local, "plan.md").write_text("# Fast\n\n## TODO\n")
    hook('ctx.block("ask the board")')

    ran = prloom("edit", "fast", "--design")

    assert ran.code == 1
    (plan,) = json.loads(prloom("status", "--json").out)["plans"]
    assert plan["block"]["reason"] == "plugin looks: ask the board"
    assert "- [ ] Measure" in (local / "plan.md").read_text()


def in_a_terminal(stage: Stage, agent: str, *argv: str) -> tuple[int, str]:
    """Run prloom in a terminal with a claude that is this Python code, and return its exit code and what it says."""
    program = executable.write(
        stage.root / "bin/claude", f"#!{sys.executable}\nimport pathlib, re, sys\nprompt = sys.argv[-1]\n{agent}"
    )
    stage.configure('[stages]\ndesigner = "claude"\n')
    main, screen = os.openpty()
    environ = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    running = command_server.begin_on_terminal(argv, cwd=stage.root, env=environ, terminal=screen)
    said = terminal_output.read_all(main).decode()  # while it runs: a terminal that nobody reads is full sometime
    return running.wait(command_server.LIMIT), said


WRITES = f'pathlib.Path(re.search(r"into the file (\\S+),", prompt)[1]).write_text({WRITTEN!r})\n'


def test_in_a_terminal_the_designer_talks_with_the_operator_and_writes_the_plan(stage: Stage) -> None:
    talk = 'print("How fast?", sys.stdin.isatty(), "Greeting is slow" in prompt)\n'

    code, said = in_a_terminal(stage, talk + WRITES, "new", "Greeting is slow", "--design")

    assert code == 0, said
    assert "How fast? True True" in said
    assert draft(stage) == f"---\nstatus: draft\n---\n{WRITTEN}"
    assert list((stage.root / "prloom/.local/designs").iterdir()) == []


def test_a_talk_that_ends_without_a_plan_makes_none(stage: Stage) -> None:
    code, said = in_a_terminal(stage, "pass\n", "new", "Greeting is slow", "--design")

    assert code == 1
    assert "the designer has written no plan into" in said
    assert not (stage.root / "prloom/.local/inbox/fast.md").exists()


def test_what_was_written_in_a_talk_and_is_no_plan_is_kept(stage: Stage) -> None:
    code, said = in_a_terminal(stage, WRITES.replace("# Fast", "Fast"), "new", "Greeting is slow", "--design")

    assert code == 1
    assert "has no line such as `# <title>`; what it wrote is in" in said.replace("\r\n", "")
    (kept,) = (stage.root / "prloom/.local/designs").iterdir()
    assert kept.read_text().startswith("Fast")
