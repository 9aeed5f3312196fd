"""Find what is wrong around prloom: git, the configuration, the agents, the tokens, and the worktrees of plans."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from shlex import quote

from prloom import programs
from prloom.agents import registry
from prloom.config import loading, stages
from prloom.config.models import Config
from prloom.core import bot_logins
from prloom.engine.assembly.plugins import select_plugins
from prloom.engine.bridge_trial import BridgeTrial
from prloom.engine.bus import plans
from prloom.engine.views import lost_plans
from prloom.engine.views.doctor import Finding, FindingSeverity
from prloom.errors import PrloomError, WorkspaceError
from prloom.extensions import bridges
from prloom.model import kinds
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import checkout, commits, git, remote, repository

OLDEST_GIT = (2, 38)
"""The first version that knows `safe.bareRepository`, which keeps git out of repositories among a branch's files."""

_PATIENCE = timedelta(seconds=20)
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def of_git(root: Path) -> Iterator[Finding]:
    """Yield what is wrong with git, and with what it ignores; raises WorkspaceError where there is no git."""
    said = git.run(["version"], cwd=root).out
    found = _VERSION.search(said)
    if found is not None and tuple(map(int, found[0].split(".")[:2])) < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        yield _finding("warning", f"git {found[0]} is older than {oldest}, which is recommended", "git", "update git")
    if not git.run(["for-each-ref", "--count=1", "refs/heads"], cwd=root).out:
        yield _finding("error", "the repository has no commit, so that no plan can begin", "git", "make a first commit")
    try:
        commits.require_identity(root)
    except commits.IdentityMissingError as error:
        what, _, fix = str(error).partition("; ")
        yield _finding("error", what, "git", fix)
    yield from _of_origin(root)
    local = "/".join(paths.LOCAL)
    untracked = ["ls-files", "--others", "--exclude-standard", "--directory", "--", local]
    if git.run(untracked, cwd=root).out:
        what = "git does not ignore it, so `git add -A` would add prloom's own files"
        yield _finding("error", what, local, "run `prloom init`")
    if git.run(["ls-files", "--", local], cwd=root).out:
        what = "prloom's own files are in git's index"
        yield _finding("error", what, local, f"run `git rm -r --cached {local}`, and commit the change")


def _of_origin(root: Path) -> Iterator[Finding]:
    """Yield that origin cannot be read, with git's own words."""
    if not any(key.startswith(f"remote.{remote.ORIGIN}.") for key, _ in git.configuration(root)):
        return
    try:
        git.run(
            ["ls-remote", "--quiet", "--heads", "--end-of-options", remote.ORIGIN, "HEAD"], cwd=root, limit=_PATIENCE
        )
    except WorkspaceError as error:
        what = f"origin cannot be read: {str(error).partition(': ')[2] or error}"
        yield _finding("error", what, "git", "make `git ls-remote origin` work in the shell that starts prloom")


def of_other_checkouts(where: RepositoryPaths) -> Iterator[Finding]:
    """Yield the worktrees in which an earlier version, which kept files in each of them, has left plans."""
    for linked in checkout.linked(repository.find(where.root).git_dir):
        left = sorted(each.parent.name for each in (linked.path.joinpath(*paths.LOCAL) / "worktrees").glob("*/.git"))
        if left and linked.path != where.root:
            what = f"plans of an earlier version are here ({', '.join(left)}), and prloom works in {where.root}"
            fix = "remove their worktrees with `git worktree remove --force PATH`, then adopt their branches again"
            yield _finding("warning", what, str(linked.path), fix)


def of_worktrees(where: RepositoryPaths) -> Iterator[Finding]:
    """Yield the worktrees that contain no plan; a plan that is lost is an error of the status."""
    adopted = {*plans.ids(where), *(Path(lost.worktree).name for lost in lost_plans.every(where))}
    home = where.worktrees.resolve()
    for linked in checkout.linked(repository.find(where.root).git_dir):
        if linked.path.parent.resolve() != home or linked.path.name in adopted:
            continue
        if linked.path.is_dir():
            what = "the worktree contains no plan, because an adoption was interrupted"
            fix = f"adopt its branch again, or run `git worktree remove {linked.path.name}`"
        else:
            what = "the worktree of this plan is missing, with everything that waited there"
            fix = "adopt its branch again"
        yield _finding("error", what, str(linked.path), fix)


def of_agents(config: Config, root: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield the stages whose agent is not on this machine."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for stage in kinds.STAGES:
        missing = _missing(config, stage, root, environ)
        if missing is not None:
            lacking.setdefault(missing, []).append(stage)
    for (what, fix), of in lacking.items():
        where = f"{'stage' if len(of) == 1 else 'stages'} {', '.join(of)}"
        # the only stage that every comment needs
        severity: FindingSeverity = "warning"
        if "triage" in of:
            severity = "error"
        yield _finding(severity, what, where, f"{fix}, or name another agent under [stages] in prloom.toml")


def of_presets(config: Config, where: RepositoryPaths) -> Iterator[Finding]:
    """Yield the plans whose preset is not configured, and the keys of presets that have no effect on a plan."""
    for name, preset in config.presets.items():
        for key in loading.keys_without_effect(preset):
            what = f"{key} has no effect in a preset, because it applies to the whole repository"
            yield _finding("warning", what, f"preset {name}", "move it out of the preset, or remove it")
    for plan_id in plans.ids(where):
        try:
            local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
            if local is not None:
                with local:
                    config.for_preset(plans.load(local).preset)
        except PrloomError as error:
            if "preset" in str(error):
                what, _, fix = str(error).partition("; ")
                yield _finding("error", what, f"plan {plan_id}", fix)


def of_bridges(trials: Sequence[BridgeTrial], config: Config, where: RepositoryPaths) -> Iterator[Finding]:
    """Yield the bridges that cannot be loaded; raises ExtensionError where two claim one target.

    Yield too those that have no token while a plan's pull request, or a rule of `[[adopt]]`, is for their forge.
    Nothing is sent.
    """
    used = _used(trials, config, where)
    for each in trials:
        if each.error is not None:
            fix = f"correct that, or set enabled = false in [bridges.{each.name}]; restart a running dispatcher"
            yield _finding("error", each.error, f"bridge {each.name}", fix)
        elif each.no_token is not None and each in used:
            what, fix = _without_token(each.no_token)
            yield _finding("error", what, f"bridge {each.name}", fix)
    bridges.refuse_shared_targets(trials)


def of_unused_forges(trials: Sequence[BridgeTrial], config: Config, where: RepositoryPaths) -> Iterator[Finding]:
    """Yield the forges that have no token and need none yet, because no plan and no rule uses them."""
    used = _used(trials, config, where)
    for each in trials:
        if each.is_forge and each.no_token is not None and each not in used:
            what, fix = _without_token(each.no_token)
            what = f"{what}, and the first plan with a pull request needs one"
            yield _finding("warning", what, f"bridge {each.name}", fix)


def _used(trials: Sequence[BridgeTrial], config: Config, where: RepositoryPaths) -> list[BridgeTrial]:
    """Return the bridges that a plan's pull request or a rule of `[[adopt]]` is for."""
    wanted = set(_forges(where))
    used = [each for each in trials if not wanted.isdisjoint(each.targets)]
    forges = [each for each in trials if each.is_forge]
    if config.adopt and len(forges) == 1 and forges[0] not in used:
        used += forges
    return used


def _without_token(reason: str) -> tuple[str, str]:
    """Return what is wrong, and what to do."""
    what, _, fix = reason.partition("; " if "; " in reason else ": ")
    return what, fix


def of_trust(config: Config) -> Iterator[Finding]:
    """Yield the logins of `[trust]` that trust nobody, or only half of a bot."""
    for what, fix in bot_logins.problems(config.trust.users, config.trust.bots):
        yield _finding("warning", what, "[trust]", fix)


def of_plugins(config: Config, root: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield the plugins that are enabled and cannot be loaded, and what prloom.toml says of plugins that do not exist.

    No plugin's code is run for that.
    """
    selection = select_plugins(root, config, environ)
    for failure in selection.failures:
        disable = "remove the name from prloom.toml"
        if failure.source:
            disable = f"`prloom plugins disable {failure.name}`"
        fix = f"correct that, or {disable}; a running dispatcher has to be restarted"
        yield _finding("error", failure.reason, f"plugin {failure.name}", fix)
    for warning in selection.warnings:
        if warning not in selection.missing.values():
            where, _, rest = warning.partition(": ")
            what, _, fix = rest.partition("; ")
            yield _finding("warning", what, where, fix)


def _forges(where: RepositoryPaths) -> Iterator[str]:
    """Yield the forges on which the plans' pull requests are."""
    for plan_id in plans.ids(where):
        with suppress(PrloomError):  # a plan that cannot be read is a finding of its own
            local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
            if local is not None:
                with local:
                    plan = plans.load(local)
                if plan.pr is not None and plan.forge is not None:
                    yield plan.forge


def _missing(config: Config, stage: str, root: Path, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what a stage's agent lacks and how to get it, or None."""
    name = stages.stage(config, stage).agent
    if name == "auto":
        if registry.first_found(environ):
            return None
        return "no agent was found on this machine", "install one that prloom supports"
    program = registry.get(name).program
    argv = config.agents.command.argv
    if program is None and argv:
        program = argv[0]
        if "/" in program:
            program = str(root / program)
    if program is None:
        return 'the agent "command" has no program', "set argv below [agents.command]"
    if programs.locate(program, environ):
        return None
    if Path(program).is_absolute() and Path(program).is_file():
        return f"the program {program} of the agent {name} is not executable", f"run `chmod +x {quote(program)}`"
    return f"the program {program} of the agent {name} was not found", "install it"


def _finding(severity: FindingSeverity, what: str, where: str, fix: str) -> Finding:
    return Finding(severity=severity, what=what, where=where, fix=fix)
