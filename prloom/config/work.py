"""The tables `[work]` and `[limits]`: how TODOs are worked on, and when prloom stops to ask a person."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from prloom.config.section import ConfigSection
from prloom.config.values import Count, Duration, Flag, Size, Text
from prloom.core.work.inspection import DEFAULT_JUNK, DEFAULT_PROTECTED

DEFAULT_SETUP_FILES = (
    *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock"),
    *(
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
        "requirements*.txt",
        "Cargo.lock",
        "go.sum",
        "Gemfile.lock",
    ),
    *("composer.lock", "mix.lock", "pubspec.lock", "Package.resolved", "gradle.lockfile", "packages.lock.json"),
)
"""The default of `[work] setup_files`: the lock files of the usual package managers."""


class WorkSection(ConfigSection):
    """How TODOs are worked on."""

    mode: Literal["auto", "ask", "off"] = Field(
        default="auto",
        description='"auto" works on each TODO; "ask" waits for `prloom todo PLAN go ID` before each; "off" only '
        "collects them.",
    )
    skip_blocked: Flag = Field(
        default=False, description="Whether prloom continues with the TODOs after a blocked one."
    )
    setup: tuple[Text, ...] = Field(
        default=(),
        description="Commands, such as `npm ci`, that run in a plan's clone after it was made, and again when one of "
        "the setup_files has changed; a failure blocks the plan.",
    )
    setup_files: tuple[Text, ...] = Field(
        default=DEFAULT_SETUP_FILES,
        description="Files on which the set-up depends, as patterns of .gitignore.",
    )
    setup_timeout: Duration = Field(
        default=timedelta(minutes=15), description="How long each command of the set-up may take."
    )
    checks: tuple[Text, ...] = Field(
        default=(),
        description="Commands that must succeed before a change is committed; they run in the plan's clone.",
        examples=[["make test"]],
    )
    check_timeout: Duration = Field(default=timedelta(minutes=10), description="How long each check may take.")
    review: Flag = Field(
        default=False, description="Whether an agent of the stage commit_review reviews each change before its commit."
    )
    protected: tuple[Text, ...] = Field(
        default=DEFAULT_PROTECTED, description="Files that workers must not change, as patterns of .gitignore."
    )
    junk: tuple[Text, ...] = Field(
        default=DEFAULT_JUNK,
        description="New files that are not part of a change although git does not ignore them, as patterns of "
        ".gitignore.",
    )
    max_file: Size = Field(
        default=5 * 10**6, description="The size of the largest file that a worker may add or change.", examples=["5MB"]
    )
    max_diff: Count = Field(default=20_000, ge=1, description="The most lines that one TODO may add and remove.")
    git_hooks: Flag = Field(
        default=False,
        description="Whether the commit hooks of your checkout run for prloom's commits, in the plan's clone and its "
        "sandbox; they may refuse one, and what they change in files is not committed.",
    )
    sign: Literal["auto", "always", "never"] = Field(
        default="auto",
        description='Whether prloom signs its commits, with what gpg.format and user.signingKey of git name; "auto" '
        "follows commit.gpgSign.",
    )
    open: Literal["first_commit", "never"] = Field(
        default="first_commit", description="When prloom opens a pull request, as a draft, for a plan that has none."
    )
    rebase: Literal["on_request", "auto", "never"] = Field(
        default="on_request",
        description='When prloom rebases a branch onto its base: when a person or an agent requests it; "auto": when '
        "it conflicts, too; or never.",
    )
    keep: Duration = Field(
        default=timedelta(days=7),
        description="How long a worktree is kept after its pull request was merged or closed; while work would be lost "
        "with it, it is kept longer.",
    )
    pause_after_todo: Flag = Field(
        default=False, description="Whether the plan is paused after each TODO but the last, until `prloom resume`."
    )


class LimitsSection(ConfigSection):
    """When prloom stops and asks a person; 0 means no limit."""

    max_attempts: Count = Field(
        default=3,
        ge=0,
        description="How often a TODO is tried, or a change reviewed without a verdict, before the TODO is parked.",
    )
    max_runs_per_plan_per_day: Count = Field(
        default=50, ge=0, description="How many agent runs a plan may have in a day (UTC)."
    )
    max_runs_per_day: Count = Field(default=200, ge=0, description="How many agent runs there may be in a day.")
    max_tokens_per_day: Count = Field(
        default=0, ge=0, description="How many tokens runs may use in a day, as far as agent programs count them."
    )
    max_cost_usd_per_day: float = Field(
        default=0.0, ge=0, description="What runs may cost in a day, in US dollars, as far as agent programs say it."
    )
    max_replies_per_thread_per_day: Count = Field(
        default=10, ge=0, description="How many replies prloom posts in one conversation in a day (UTC)."
    )
    max_ci_fixes: Count = Field(
        default=3,
        ge=0,
        description="How often a failed check becomes a TODO until a person pushes, or resumes the plan.",
    )
    max_review_rounds: Count = Field(
        default=2,
        ge=0,
        description="How often a TODO's change is reviewed; if the last review rejects it, too, the TODO is parked.",
    )
    max_finish_rounds: Count = Field(
        default=5,
        ge=0,
        description="How often in a row the beforeFinish hooks may add TODOs before the plan is blocked.",
    )
