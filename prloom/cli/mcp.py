"""`prloom mcp`: an MCP server for the agent of a run, or for a person's own agent."""

from __future__ import annotations

import os

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError


@click.command("mcp")
@click.option("--run", "run", metavar="RUN", help="Serve the tools of this run. prloom itself uses this option.")
@pass_options
def command(given: Options, run: str | None) -> None:
    """Serve prloom over MCP, on standard input and output.

    Without --run, it is for your own agent: see what waits and why, and steer prloom.
    """
    if run is not None:
        _serve_run(given, run)
        return
    root = context.repo_root(given)
    from prloom.mcp import person_server  # noqa: PLC0415 - a second, which errors need not take

    person_server.serve(root)


def _serve_run(given: Options, run: str) -> None:
    from pathlib import Path  # noqa: PLC0415 - `prloom --help` needs none

    from prloom.agents import mcp_server  # noqa: PLC0415 - likewise

    access = mcp_server.of_environment(os.environ)
    config = os.environ.get(mcp_server.CONFIG_VARIABLE)
    if access is None and config is not None:
        try:
            access = mcp_server.access(Path(config).read_bytes())
        except OSError as error:
            raise PrloomError(f"{config} cannot be read ({error.strerror}); run {run} may be over") from error
    if access is None:
        raise PrloomError(
            f"the environment has no token of run {run}; prloom starts this server itself, for the agents that it runs"
        )
    from prloom.mcp import run_server  # noqa: PLC0415 - a second, which errors need not take

    run_server.serve(run, access, Path(given.directory))
