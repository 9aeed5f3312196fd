"""`prloom demo`: the whole story on a throw-away repository, with nothing installed or configured."""

from __future__ import annotations

import click

from prloom.cli import terminal


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """See prloom at work on a temporary repository.

    Nothing has to be installed or configured, nothing leaves this machine, and the folder is kept for inspection.
    """
    from prloom.cli import demo_story, main  # noqa: PLC0415 - only this command needs them

    root = demo_story.make_repository()
    for step in demo_story.STORY:
        click.echo()
        click.echo(terminal.paint(step.told, "strong"))
        if step.prepare is not None:
            step.prepare(root)
        args = demo_story.filled_in(step.args, root)
        if not args:
            continue
        click.echo(terminal.paint("$ " + demo_story.spelled(args), "name"))
        code = main.run(main.cli, ["-C", str(root), *args])
        if code:
            ctx.exit(code)
    click.echo()
    click.echo(terminal.paint("All data is in plain files. To look around:", "strong"))
    click.echo(f"  cd {terminal.clean(str(root))}")
    click.echo("  prloom events     list every event with its state")
    click.echo("  prloom start      run the dispatcher; the deferred comment is due in 10 minutes")
    click.echo(
        f"  prloom why {demo_story.STRANGER}    show why the stranger's comment is held; `prloom approve` approves it"
    )
