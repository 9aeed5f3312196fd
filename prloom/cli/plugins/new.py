"""`prloom plugins new`: make a plugin of one's own, with a passing test."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

import click

from prloom import bundled
from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.cli.plugins import background_scaffolds
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prloom.cli.plugins.background_scaffolds import Language

# In the texts, NAME is the plugin's name and SLUG the same as a part of a Python name.
_MANIFEST = """\
name: NAME
version: "0.1"
description: Answers comments that begin with !NAME
# The environment variables that it needs; it gets no other secrets, and never a forge's token:
# requires_env: [MY_SERVICE_TOKEN]
"""

_CODE = '''\
"""A plugin of prloom: answer comments that begin with `!NAME`, and count them."""

from prloom.api import PluginContext, TriageContext

WORD = "!NAME"


def register(ctx: PluginContext) -> None:
    """Say what the plugin does, and when; this runs once, when prloom starts."""

    @ctx.hook("beforeTriage")
    def answer(plan: str, triage: TriageContext) -> None:
        # Comments, reviews, failed checks: all events that are not handled yet. An event that is not marked here
        # goes on to the next plugin, and finally to the triage agent.
        for event in triage.events:
            if event.body.startswith(WORD):
                count = triage.update_global_state("count", lambda before: (before or 0) + 1)
                triage.emit_comment(event.reply_to, f"Hello! This is greeting number {count}.")
                triage.mark_event_handled(event.id)
'''

_TEST = '''\
"""Tests of the plugin, which need no dispatcher; run them with pytest."""

from pathlib import Path

from prloom.testing import a_comment, harness
from prloom.testing.plugin_contract import PluginContract

PLUGIN = Path(__file__).parent.parent


def test_a_comment_with_the_word_is_answered() -> None:
    comment = a_comment("!NAME world")

    seen = harness(PLUGIN).show(comment)

    assert seen.handled == (comment.id,)
    assert seen.comments == ("Hello! This is greeting number 1.",)


def test_any_other_comment_goes_on_to_the_agent() -> None:
    comment = a_comment("Please rename it.")

    assert harness(PLUGIN).show(comment).passed == (comment.id,)


class TestPromises(PluginContract):
    """What every plugin promises, tried on events of every shape that the sources give."""

    plugin = PLUGIN
    events = {"a greeting": a_comment("!NAME", id="greeting")}
'''


@click.command("new")
@click.argument("name")
@click.option(
    "--dir",
    "directory",
    metavar="PATH",
    help="The folder in which the plugin's folder is created.  [default: prloom/plugins of the repository]",
)
@click.option("--background", is_flag=True, help="A plugin with a daemon, which runs beside the dispatcher.")
@click.option(
    "--language",
    type=click.Choice(background_scaffolds.LANGUAGES),
    help="The daemon's language, with --background.  [default: python]",
)
@pass_options
def command(given: Options, name: str, directory: str | None, *, background: bool, language: Language | None) -> None:
    """Create a working plugin: a manifest, ten lines of code to change, and a test that passes."""
    from pathlib import Path  # noqa: PLC0415 - `prloom plugins new --help` needs none

    if language is not None and not background:
        raise click.UsageError("--language is for a plugin with a daemon; add --background")
    _check_name(name)
    own = None
    if directory is None:
        own = context.repo_root(given) / "prloom" / "plugins"
    if own is not None:
        parent = own
    else:
        parent = Path(directory or "")
    replaced = _others(name, parent)
    folder = parent / name
    files = _files(name)
    if background:
        files = background_scaffolds.files(name, language or "python")
    _make(folder, files)
    if folder.is_relative_to(Path.cwd()):
        where = folder.relative_to(Path.cwd())
    else:
        where = folder
    _report_created(name, where, files, searched=own is not None, background=background)
    if replaced:
        click.echo(f"prloom comes with a plugin {replaced}; when yours is enabled, it replaces that one.")


def _check_name(name: str) -> None:
    from prloom.extensions import keys  # noqa: PLC0415 - see command

    problem = keys.problem(name)
    if problem is not None:
        proposal = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-_").lower()[:64]
        better = "my-plugin"
        if proposal and keys.problem(proposal) is None:
            better = proposal
        raise PrloomError(f"{problem}; use {better}, for example")


def _others(name: str, parent: Path) -> str | None:
    """Return the bundled plugin that this one would replace; raise PrloomError if it would clash with a neighbour."""
    from prloom.extensions import discovery, keys  # noqa: PLC0415 - see command
    from prloom.extensions.discovery import PluginPaths  # noqa: PLC0415

    places = PluginPaths(bundled=bundled.folder("plugins"), project=parent, installed=False)
    alike = [found for found in discovery.discover(places) if keys.slug(found.key) == keys.slug(name)]
    for found in alike:
        if found.source == "project" or found.key != name:
            raise PrloomError(f"there is a plugin {found.key} already ({found.place}); choose another name")
    if alike:
        return alike[0].key
    return None


def _files(name: str) -> Mapping[str, str]:
    """Return the texts of the plugin's files."""
    slug = name.replace("-", "_")
    texts = {"plugin.yaml": _MANIFEST, "__init__.py": _CODE, f"tests/test_{slug}.py": _TEST}
    return {path: text.replace("NAME", name) for path, text in texts.items()}


def _make(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into a folder that appears whole, or not at all."""
    for taken in (folder, folder.with_suffix(".py")):
        if taken.exists() or taken.is_symlink():
            raise PrloomError(f"{taken} already exists; choose another name, or remove it")
    in_the_way = next((each for each in folder.parents if each.exists() and not each.is_dir()), None)
    if in_the_way is not None:
        raise PrloomError(f"{in_the_way} is a file, not a folder; move it, or name another folder with --dir")
    try:
        _write(folder, files)
    except OSError as error:
        raise PrloomError(
            f"{folder} cannot be created: {error.strerror} ({error.filename}); name another folder with --dir"
        ) from error


def _write(folder: Path, files: Mapping[str, str]) -> None:
    import shutil  # noqa: PLC0415 - see command
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))  # hidden, so that nobody takes it for a plugin
    try:
        for name, text in files.items():
            path = beside / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        beside.chmod(0o755)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _report_created(name: str, where: Path, files: Mapping[str, str], *, searched: bool, background: bool) -> None:
    """Say what was made, and what next."""
    from importlib.util import find_spec  # noqa: PLC0415 - see command

    if searched:
        named = name
    else:
        named = quote(str(where))
    steps = (
        {}
        if background
        else {
            f"prloom plugins test {named} --say '!{name}'": "show what it does with a comment",
            f"prloom plugins test {named}": "show what it does with events of every kind",
        }
    )
    steps |= {
        f"pytest {quote(str(where))}": "run its tests"
        + ("" if find_spec("pytest") else " (needs `pip install pytest`)"),
        f"prloom plugins enable {name}": "enable it" if searched else "enable it, when it is in prloom/plugins",
        "prloom start": "it then sees every event",
    }
    if background:
        steps["prloom start"] = "its daemon then runs"
        steps["prloom plugins status"] = "show the daemon's state"
    shown = {
        "plugin.yaml": "what it is",
        **dict.fromkeys(("__init__.py", "daemon.py", "daemon.js", "plugin.sh"), "what it does"),
        "serve.py": "runs plugin.sh for each message",
    }
    click.echo(f"Created {terminal.paint(terminal.clean(name), 'name')} in {terminal.clean(str(where))}:")
    for line in terminal.table(
        [(f"  {file}", terminal.paint(shown.get(file, "passes as it is"), "dim")) for file in files]
    ):
        click.echo(line)
    click.echo("Next:")
    for line in terminal.table([(f"  {step}", terminal.paint(why, "dim")) for step, why in steps.items()]):
        click.echo(line)
