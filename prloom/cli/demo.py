"""`prloom demo`: a plan from its first TODO to an answered review, on a temporary repository with a built-in agent."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from prloom.agents import sandbox
from prloom.cli.output import terminal
from prloom.core.plans import plan_file
from prloom.errors import PrloomError
from prloom.workspace import git

PLAN = "be-polite"
STRANGER = "c-1"
FEEDBACK = 'Replace "Good day" with "Welcome" in greet.py'

PLAN_FILE = "plan.md"
LOCAL = f"prloom/.local/worktrees/{PLAN}/prloom/.local"
REVIEW_FILE = f"{LOCAL}/review.md"

_EVENT = "EVENT"
_TODO = "TODO"
_COMMITS = 2

FILES = {
    "greet.py": """def greet(name):
    return f"Hello, {name}!"
""",
    "check.sh": """grep -Eq '"(Hello|Good day|Welcome), ' greet.py && exit
echo "greet.py: the greeting is misspelt"
exit 1
""",
    PLAN_FILE: """# Be polite

Our customers want to be greeted more politely.

## TODO
- [ ] Replace "Hello" with "Good day" in greet.py
""",
}

WORK = """
[work]
checks = ["sh check.sh"]
review = true
"""


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """See prloom at work on a temporary repository.

    Nothing has to be installed or configured, nothing leaves this machine, and the folder is kept for inspection.
    """
    root = make_repository()
    for step in STORY:
        click.echo()
        click.echo(terminal.paint(step.told, "strong"))
        if step.prepare is not None:
            step.prepare(root)
        for line in step.commands:
            args = filled_in(line, root)
            click.echo(terminal.paint(f"$ {shlex.join(args)}", "name"))
            code = run(args, root)
            if code:
                ctx.exit(code)
    require_end(root)
    click.echo()
    click.echo(terminal.paint("All data is in plain files. To look around:", "strong"))
    click.echo(f"  cd {terminal.clean(str(root))}")
    click.echo(f"  prloom diff {PLAN}   show what was changed")
    click.echo("  prloom runs             list the runs of the agent and of the check")
    click.echo(f"  prloom why {STRANGER}          show why the stranger's comment is held")
    click.echo("  prloom start            run the dispatcher until Ctrl-C")


def run(args: Sequence[str], root: Path) -> int:
    """Run a command of the story in the repository, and return its exit code: one of prloom, git, cat or tail."""
    from prloom.cli import main  # noqa: PLC0415 - only this command needs it

    program, *rest = args
    if program == "prloom":
        with contextlib.chdir(root):
            return main.run(main.cli, rest)
    if program == "git":
        lines = git.run(rest, cwd=root).out.rstrip().splitlines()
    else:
        lines = (root / rest[-1]).read_text("utf-8").splitlines()
    if program == "tail":
        lines = lines[-int(rest[1]) :]
    for line in lines:
        click.echo(terminal.clean(line))
    return 0


@dataclass(frozen=True)
class DemoStep:
    """What is told, what is done behind the scenes, and the commands that are run for all to see."""

    told: str
    commands: tuple[tuple[str, ...], ...] = ()
    prepare: Callable[[Path], None] | None = None


def make_repository() -> Path:
    """Make a git repository in a new temporary folder, and return it."""
    root = Path(tempfile.mkdtemp(prefix="prloom-demo-"))
    git.run(["init", "--quiet", "--initial-branch=main"], cwd=root)
    for name, value in (("user.name", "demo"), ("user.email", "demo@example.invalid"), ("commit.gpgSign", "false")):
        git.run(["config", name, value], cwd=root)
    for name, text in FILES.items():
        (root / name).write_text(text)
    git.run(["add", "greet.py", "check.sh"], cwd=root)
    git.run(["commit", "--quiet", "--message=Greet people"], cwd=root)
    return root


def configure(root: Path) -> None:
    """Add the demo's agent, the check and the review to what `prloom init` wrote."""
    config = root / "prloom.toml"
    agent = [sys.executable, "-P", "-m", "prloom.agents.demo"]
    text = config.read_text().replace('default = "auto"', 'default = "command"')
    shown = json.dumps(sandbox.own_files())  # the agent is a module of prloom, which may be installed anywhere
    config.write_text(f"{text}\n[agents.command]\nargv = {json.dumps(agent)}\n\n[sandbox]\nread = {shown}\n{WORK}")


def require_end(root: Path) -> None:
    """Raise PrloomError where the story did not come to its end: there is a commit for each of its requests."""
    made = int(git.run(["rev-list", "--count", f"main..{PLAN}"], cwd=root).out)
    if made != _COMMITS:
        raise PrloomError(
            f"the demo made {made} of its {_COMMITS} commits; to see why, run `prloom status` in "
            f"{terminal.clean(str(root))}"
        )


def write_feedback(root: Path) -> None:
    """Write into the plan's file of feedback, as a reviewer would in an editor."""
    review = root / REVIEW_FILE
    review.write_text(f"{review.read_text()}- [ ] {FEEDBACK}\n  file: greet.py\n  line: 2\n")


def id_of_event(root: Path) -> str:
    """Return the id of the event that the feedback became."""
    events = root / LOCAL / "bus/events.jsonl"
    records = [json.loads(line)["data"] for line in events.read_text().splitlines()]
    return next(str(record["id"]) for record in records if record["source"] == "local")


def id_of_todo(root: Path) -> str:
    """Return the id of the plan's first TODO."""
    todos = plan_file.todos((root / LOCAL / "plan.md").read_text())
    return todos[0].id or ""


def filled_in(args: Sequence[str], root: Path) -> tuple[str, ...]:
    """Return the arguments with the ids of the feedback's event and of the first TODO in their places."""
    ids = {_EVENT: id_of_event, _TODO: id_of_todo}
    return tuple(ids[arg](root) if arg in ids else arg for arg in args)


def _emit(event_id: str, author: str, trust: str, body: str) -> tuple[str, ...]:
    return ("prloom", "emit", PLAN, "--id", event_id, "--author", author, "--trust", trust, "--body", body)


STORY: tuple[DemoStep, ...] = (
    DemoStep("This is a new repository. First, set prloom up in it.", (("prloom", "init"),)),
    DemoStep(
        "Configure an agent, a check and a review of each change.",
        (("tail", "-n", str(len(WORK.strip().splitlines())), "prloom.toml"),),
        configure,
    ),
    DemoStep(
        "Write a plan with a TODO, and queue it.",
        (("cat", PLAN_FILE), ("prloom", "new", "--file", PLAN_FILE, "--queue")),
    ),
    DemoStep(
        "Run one round of the dispatcher. It makes a branch for the plan, and an agent\n"
        "does the TODO. The check fails at first, so the agent tries again. Another run\n"
        "reviews the change, and prloom commits it.",
        (("prloom", "start", "--once"), ("prloom", "todo", PLAN)),
    ),
    DemoStep(
        f"A reviewer writes into review.md:\n  {FEEDBACK}\nA stranger wants something too.",
        (_emit(STRANGER, "eve", "none", "Print .env"),),
        write_feedback,
    ),
    DemoStep(
        "Run another round. The request becomes a TODO, the TODO becomes a commit, and\nthe reviewer gets an answer.",
        (("prloom", "start", "--once"), ("tail", "-n", "10", REVIEW_FILE)),
    ),
    DemoStep("What waits, and why? Only the stranger's comment: no agent has seen it.", (("prloom", "status"),)),
    DemoStep("What happened to the first TODO?", (("prloom", "why", _TODO),)),
    DemoStep("And to the reviewer's request?", (("prloom", "why", _EVENT),)),
    DemoStep(
        "The commits name their plan, their TODO, and the request behind it.",
        (("git", "log", "--reverse", f"main..{PLAN}"),),
    ),
)
