from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from layouts import git

from prloom.config import loading
from prloom.engine import bridge_trial, configured_bridges, environment_checks
from prloom.engine.bus import plans
from prloom.engine.views.doctor import Finding
from prloom.model.plan import Plan
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

ENVIRON = {"PATH": "/nowhere"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch", "main")
    for key in ("user.name", "user.email"):
        git(root, "config", key, "op@example.com")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
    return root


def places(root: Path) -> RepositoryPaths:
    return RepositoryPaths(root, root / "prloom/.local/worktrees")


def exclude(root: Path) -> None:
    with (root / ".git/info/exclude").open("a") as file:
        file.write("/prloom/.local/\n")


def test_files_of_prlooms_that_git_would_take_are_an_error_until_they_are_excluded(repo: Path) -> None:
    (repo / "prloom/.local").mkdir(parents=True)
    (repo / "prloom/.local/state.json").touch()

    (finding,) = environment_checks.of_git(repo)
    assert (finding.severity, finding.where, finding.fix) == (*("error", "prloom/.local", "run `prloom init`"),)

    exclude(repo)
    assert list(environment_checks.of_git(repo)) == []


def test_files_of_prlooms_that_git_has_taken_are_an_error(repo: Path) -> None:
    (repo / "prloom/.local").mkdir(parents=True)
    (repo / "prloom/.local/state.json").touch()
    git(repo, "add", "--all")
    exclude(repo)

    (finding,) = environment_checks.of_git(repo)

    assert finding.fix == "run `git rm -r --cached prloom/.local`, and commit the change"


def test_a_plan_whose_worktree_is_gone_is_an_error_and_so_is_a_half_made_one(repo: Path) -> None:
    for name in ("gone", "half", "whole"):
        git(repo, "worktree", "add", "--quiet", "-b", name, f"prloom/.local/worktrees/{name}")
    git(repo, "worktree", "add", "--quiet", "-b", "own", "../own")
    trees = repo / "prloom/.local/worktrees"
    (trees / "gone").rename(repo / "moved")
    (trees / "whole/prloom/.local").mkdir(parents=True)
    (trees / "whole/prloom/.local/state.json").write_text("{}")

    findings = {Path(finding.where).name: finding for finding in environment_checks.of_worktrees(places(repo))}

    assert set(findings) == {"gone", "half"}
    assert findings["gone"].what == "the worktree of this plan is missing, with everything that waited there"
    assert findings["half"].what == "the worktree contains no plan, because an adoption was interrupted"


def test_plans_that_an_earlier_version_left_in_another_worktree_are_named(repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "-b", "own", "../own")
    git(repo, "worktree", "add", "--quiet", "-b", "work", "../own/prloom/.local/worktrees/work")

    (finding,) = environment_checks.of_other_checkouts(places(repo))

    assert finding.where == str(repo.parent / "own")
    assert finding.what == f"plans of an earlier version are here (work), and prloom works in {repo}"


def test_a_machine_without_an_agent_is_one_error_for_all_stages(repo: Path) -> None:
    (finding,) = environment_checks.of_agents(loading.load(repo, {}), repo, ENVIRON)

    assert finding.severity == "error"
    assert finding.where == "stages default, triage, worker, designer, commit_review"
    assert finding.what == "no agent was found on this machine"
    assert finding.fix.startswith("install one that prloom supports, or name another agent under [stages]")


def test_each_stages_own_agent_is_looked_for(repo: Path) -> None:
    (repo / "prloom.toml").write_text(
        '[stages]\ndefault = "command"\nworker = "gemini"\n[agents.command]\nargv = ["./agent"]\n'
    )
    (repo / "agent").touch(mode=0o755)

    (finding,) = environment_checks.of_agents(loading.load(repo, {}), repo, ENVIRON)

    assert (finding.severity, finding.where) == ("warning", "stage worker")
    assert finding.what == "the program gemini of the agent gemini was not found"


@pytest.mark.parametrize(
    ("there", "wrong", "remedy"),
    [
        (False, "was not found", "install it, or name another agent under [stages] in prloom.toml"),
        (True, "is not executable", "run `chmod +x {}/agent`, or name another agent under [stages] in prloom.toml"),
    ],
    ids=["missing", "not executable"],
)
def test_a_program_of_ones_own_that_cannot_be_run_is_named_with_what_to_do(
    repo: Path, *, there: bool, wrong: str, remedy: str
) -> None:
    (repo / "prloom.toml").write_text('[stages]\ndefault = "command"\n[agents.command]\nargv = ["./agent"]\n')
    if there:
        (repo / "agent").touch(mode=0o644)

    (finding,) = environment_checks.of_agents(loading.load(repo, {}), repo, ENVIRON)

    assert finding.what == f"the program {repo}/agent of the agent command {wrong}"
    assert finding.fix == remedy.format(repo)


def test_a_preset_that_a_plan_wants_and_nobody_configured_is_an_error(repo: Path) -> None:
    local = repo / "prloom/.local/worktrees/p/prloom/.local"
    local.mkdir(parents=True)
    (local / "state.json").write_text('{"id": "p", "branch": "p", "preset": "careful"}')

    (finding,) = environment_checks.of_presets(loading.load(repo, {}), places(repo))
    assert (finding.where, finding.what) == ("plan p", "no preset careful is configured")

    (repo / "prloom.toml").write_text('[presets.careful.trust]\nminimum = "admin"\n')
    assert list(environment_checks.of_presets(loading.load(repo, {}), places(repo))) == []

    (repo / "prloom.toml").write_text('[presets.careful]\nplugins.enabled = ["notes"]\n')
    (finding,) = environment_checks.of_presets(loading.load(repo, {}), places(repo))
    assert (finding.severity, finding.where) == ("warning", "preset careful")
    assert finding.what == "plugins.enabled has no effect in a preset, because it applies to the whole repository"


# ---- tokens


def adopted(repo: Path, forge: str | None) -> RepositoryPaths:
    """Return the repository's places, where one plan looks after a pull request on a forge."""
    where = places(repo)
    where.worktree("pr-7").mkdir(parents=True)
    with SafeDir.make(where.worktree("pr-7"), "prloom", ".local") as local:
        plans.save(local, Plan(id="pr-7", branch="topic", pr=7 if forge else None, forge=forge))
    return where


def of_tokens(repo: Path, forge: str | None, environ: Mapping[str, str]) -> list[Finding]:
    """Return what is found of the tokens, where one plan looks after a pull request on a forge."""
    where, config = adopted(repo, forge), loading.load(repo, {})
    trials = bridge_trial.of(configured_bridges.load(repo, config), environ)
    return list(environment_checks.of_bridges(trials, config, where))


@pytest.mark.parametrize("forge", ["github", None])
def test_a_forge_of_a_pull_request_without_a_token_is_an_error_that_says_where_to_put_one(
    repo: Path, forge: str | None
) -> None:
    found = of_tokens(repo, forge, ENVIRON)

    assert [(each.severity, each.where, each.what) for each in found] == (
        [("error", "bridge github", "there is no token")] if forge else []
    )
    assert all(
        each.fix.startswith("set GITHUB_TOKEN, or name a file that contains it in GITHUB_TOKEN_FILE") for each in found
    )


def test_a_file_without_a_token_is_named(repo: Path) -> None:
    environ = {**ENVIRON, "GITHUB_TOKEN_FILE": "/nowhere/token"}

    (finding,) = of_tokens(repo, "github", environ)

    assert finding.what.startswith("GITHUB_TOKEN_FILE names /nowhere/token, which cannot be read")
    assert finding.fix == "fix it"


def test_a_token_that_is_there_is_no_finding_and_is_not_shown_to_anybody(repo: Path) -> None:
    environ = {**ENVIRON, "GITHUB_TOKEN": "ghp_whatever"}

    assert of_tokens(repo, "github", environ) == []


def test_a_login_of_trust_that_trusts_nobody_is_a_warning(repo: Path) -> None:
    (repo / "prloom.toml").write_text('[trust]\nusers = ["dependabot[bot]"]\n')

    assert list(environment_checks.of_trust(loading.load(repo, {}))) == [
        Finding(
            severity="warning",
            what="dependabot[bot] in trust.users is a bot, and trusts nobody",
            where="[trust]",
            fix="move it to trust.bots",
        )
    ]


def test_a_repository_without_a_commit_is_an_error(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    for key in ("user.name", "user.email"):
        git(tmp_path, "config", key, "op@example.com")

    (finding,) = environment_checks.of_git(tmp_path)

    assert (finding.severity, finding.fix) == ("error", "make a first commit")
