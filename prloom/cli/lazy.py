"""A group of commands whose modules are imported when they are run, so that listing them costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem


class Lazy(NamedTuple):
    """A command that is not imported yet: its module has it as `attribute`.

    One that does not log, for it only reads files, is spared the import of `logging`.
    """

    module: str
    help: str
    attribute: str = "command"
    logs: bool = True


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run; listing them imports none."""

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy], **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, which is that of a first day with prloom."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; a module that is missing or lacks it is a bug, and is reported as one."""
        if cmd_name not in self.lazy:
            return None
        from importlib import import_module  # noqa: PLC0415 - `prloom --help` needs none

        lazy = self.lazy[cmd_name]
        command: click.Command = getattr(import_module(lazy.module), lazy.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; suggest one for a name that is unknown.

        Raises PrloomError in an agent's run, for a command that does more than read.
        """
        name = args[0]
        if name in self.lazy or name.startswith("-") or ctx.resilient_parsing:
            found = super().resolve_command(ctx, args)
            if isinstance(found[1], click.Command) and not isinstance(found[1], click.Group):
                from prloom.cli import in_run  # noqa: PLC0415 - `prloom --help` needs none

                in_run.check(ctx, name, found[1], found[2])
            return found
        raise self.unknown(ctx, name)

    def unknown(self, ctx: click.Context, name: str) -> click.UsageError:
        """Return the error that names the command nearest to one that does not exist."""
        from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

        close = get_close_matches(name, self.lazy, n=1)
        hint = ""
        if close:
            hint = f"; did you mean {close[0]}?"
        return click.UsageError(f"no command {name}{hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in self.lazy.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names from the table alone."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only the shell asks

        options = click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=self.lazy[name].help) for name in self.lazy if name.startswith(incomplete)
        ] + options
