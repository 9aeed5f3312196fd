"""`prloom init`: write prloom.toml, and keep prloom's own files out of git."""

from __future__ import annotations

import click

from prloom.cli import config_check, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal

TEMPLATE = """# prloom's configuration. docs/configuration.md lists every key with its default.
base_branch = {base}

[stages]
# The agent that reads feedback: "auto" uses the first supported one that is installed.
default = "auto"

[trust]
# Comments by people with a lower permission are held until a trusted person approves them.
minimum = "write"

[plugins]
# Plugins in prloom/plugins/ run only if they are listed here; `prloom plugins new NAME` creates one.
enabled = []
"""


@click.command()
@pass_options
def command(given: Options) -> None:
    """Write prloom.toml, and keep prloom/.local out of git.

    An existing prloom.toml is checked and not changed.
    """
    import json  # noqa: PLC0415 - only this command needs them
    import os  # noqa: PLC0415

    from prloom.engine.adoption import adopt  # noqa: PLC0415
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    repo = repository.find(context.repo_root(given))
    adopt.prepare(repo)
    path = repo.root / "prloom.toml"
    if os.path.lexists(path):
        context.config(given)
        click.echo(f"{terminal.clean(str(path))} already exists and is valid; it was not changed.")
    else:
        text = TEMPLATE.format(base=json.dumps(repository.default_branch(repo), ensure_ascii=False))
        with SafeDir.make(repo.root) as folder:
            folder.replace(path.name, text.encode(), mode=0o666)  # what the umask makes of it, as an editor would
        click.echo(f"Wrote {terminal.clean(str(path))}.")
    config_check.remember_valid(given)
    click.echo("prloom/.local is kept out of git (.git/info/exclude).")
    click.echo("Next: begin with `prloom new` (a new plan) or `prloom adopt` (a pull request, or --branch B).")
    click.echo("`prloom doctor` checks the setup.")
