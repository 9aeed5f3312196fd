"""`prloom doctor`: find problems, and show how to fix them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.engine.views.doctor import Finding


@click.command("doctor")
@json_option
@pass_options
def command(given: Options, *, as_json: bool) -> None:
    """Check git, the configuration, the agents, the tokens and prloom's files, and show how to fix each problem.

    Bridges and enabled plugins are loaded, each in a process of its own. Nothing is changed. The exit code is 1 if
    there is an error; with warnings only, it is 0.
    """
    with terminal.progress("checking"):
        found = _each_once(_findings(given))
    if as_json:
        terminal.echo_json({"findings": found})
    else:
        click.echo("\n".join(_lines(found)))
    if any(finding.severity == "error" for finding in found):
        raise click.exceptions.Exit(1)


def _each_once(findings: Iterator[Finding]) -> list[Finding]:
    """Return the findings; what the dispatcher has published and the configuration shows as well is named once."""
    return list({(each.where, each.what): each for each in findings}.values())


def _findings(given: Options) -> Iterator[Finding]:
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom doctor --help` needs none

    from prloom.engine import (  # noqa: PLC0415 - `prloom doctor --help` needs none
        bridge_trial,
        environment_checks,
        load_checks,
        plugin_checks,
        sandbox_checks,
    )
    from prloom.engine.views import doctor  # noqa: PLC0415
    from prloom.errors import ConfigError, PrloomError  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    config = where = None
    try:
        where = context.repository(given)
        config = context.config(given)
    except ConfigError as error:
        yield from doctor.of_error(error, "the configuration")
    except PrloomError as error:
        yield from doctor.of_error(error, "the repository")
    if where is None:
        return
    yield from doctor.guarded(lambda: environment_checks.of_git(where.root), "git")
    yield from doctor.guarded(lambda: environment_checks.of_worktrees(where), str(where.worktrees))
    yield from doctor.guarded(lambda: environment_checks.of_other_checkouts(where), str(where.root))
    yield from doctor.guarded(lambda: doctor.findings(where, datetime.now(UTC)), str(where.root))
    if config is not None:
        yield from doctor.guarded(lambda: environment_checks.of_agents(config, where.root), "the agents")
        yield from doctor.guarded(lambda: sandbox_checks.of_mode(config, os.environ), "the sandbox")
        yield from doctor.guarded(
            lambda: sandbox_checks.of_proof(config, repository.find(where.root), os.environ), "the sandbox"
        )
        yield from doctor.guarded(lambda: environment_checks.of_trust(config), "the configuration")
        yield from doctor.guarded(lambda: environment_checks.of_plugins(config, where.root), "the plugins")
        yield from doctor.guarded(lambda: load_checks.of_plugins(config, where.root, os.environ), "the plugins")
        yield from doctor.guarded(lambda: plugin_checks.of_daemons(config, where.root, os.environ), "the plugins")
        yield from doctor.guarded(lambda: plugin_checks.of_manifests(config, where.root, os.environ), "the plugins")
        yield from doctor.guarded(lambda: plugin_checks.of_gemini(config, where, os.environ), "the agents")
        yield from doctor.guarded(lambda: environment_checks.of_presets(config, where), "the presets")
        trials = bridge_trial.every(where.root, config, given.overrides)
        yield from doctor.guarded(lambda: environment_checks.of_bridges(trials, config, where), "the bridges")


def _lines(found: list[Finding]) -> Iterator[str]:
    if not found:
        yield terminal.paint("All is well.", "good")
        return
    for finding in found:
        role: terminal.Role = "warn"
        if finding.severity == "error":
            role = "bad"
        told = finding.what.removeprefix(f"{finding.where}: ")
        if told.startswith(f"{finding.where} "):  # as in "bridge ci (./ci.py): ..."
            what = terminal.clean(told)
        else:
            what = f"{terminal.paint(terminal.clean(finding.where), 'strong')}: {terminal.clean(told)}"
        head = terminal.paint(finding.severity, role)
        fix = terminal.clean(finding.fix)
        if not fix.startswith("did you mean "):
            fix = f"fix: {fix}"
        yield from layout.item(head, what, fix, room=9)
    errors = sum(finding.severity == "error" for finding in found)
    yield ""
    yield f"{_counted(errors, 'error')}, {_counted(len(found) - errors, 'warning')}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
