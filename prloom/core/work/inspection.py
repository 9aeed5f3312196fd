"""Inspect what a worker changed: find what no commit of prloom may contain, before anything else reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from prloom.core.text import link_targets, secret_scan
from prloom.core.text.naming import printable
from prloom.core.text.path_patterns import PathPatterns, folded

DEFAULT_PROTECTED = (
    # Definitions of CI, which run with rights that the author of a change may not have.
    *(".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".forgejo/workflows/**"),
    *(".gitea/workflows/**", ".circleci/**", ".buildkite/**", ".woodpecker/**", ".woodpecker.yml", ".woodpecker.yaml"),
    *(".drone.yml", ".travis.yml", ".cirrus.yml", ".appveyor.yml", "appveyor.yml", ".semaphore/**", ".teamcity/**"),
    *(".tekton/**", "Jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines/**", ".ci/**"),
    *("bitbucket-pipelines.yml", ".build.yml", ".builds/**", "zuul.yaml", ".zuul.yaml", "zuul.d/**", ".zuul.d/**"),
    *("buildspec.yml", "buildspec.yaml", "cloudbuild.yaml", "cloudbuild.yml", "codemagic.yaml", "bitrise.yml"),
    *("netlify.toml", "vercel.json", "CODEOWNERS", ".github/dependabot.yml", "renovate.json", "renovate.json5"),
    *(".renovaterc*",),
    # Files that instruct agents, or that programs on a developer's machine obey; among them all `worktree_files` of the
    # agent programs that prloom runs.
    *("AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "prloom.toml"),
    *(".claude/**", ".codex/**", ".gemini/**", ".opencode/**", ".amp/**", ".agents/**", ".cursor/**", ".windsurf/**"),
    *("opencode.json", "opencode.jsonc", ".cursorrules", ".windsurfrules", ".clinerules", ".aider.conf.yml"),
    *(".mcp.json", ".github/copilot-instructions.md", ".github/instructions/**", ".github/agents/**"),
    *(".github/prompts/**", ".github/chatmodes/**", ".github/skills/**", ".github/hooks/**", ".junie/**", ".kiro/**"),
    *(".roo/**", ".roorules", ".zed/**", ".rules", ".continue/**", ".qwen/**", "QWEN.md", ".crush/**", "crush.json"),
    *(".augment/**", ".trae/**", "WARP.md", ".goosehints", "CONVENTIONS.md", ".vscode/**", ".devcontainer/**"),
    *(".devcontainer.json", ".gitattributes", ".husky/**", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml"),
    *(
        ".envrc",
        ".mise.toml",
        "mise.toml",
        ".mise/**",
        "**/.config/mise/**",
        "**/.cargo/config.toml",
        "**/.cargo/config",
        ".npmrc",
    ),
    *(".yarnrc.yml",),
)
"""The default of `[work] protected`: what an operator has to allow before a worker may change it."""

DEFAULT_JUNK = (
    *("__pycache__/**", "*.pyc", ".pytest_cache/**", ".mypy_cache/**", ".ruff_cache/**", ".hypothesis/**", ".tox/**"),
    *(".nox/**", ".venv/**", "*.egg-info/**", ".coverage", "node_modules/**", ".npm/**", ".gradle/**", ".DS_Store"),
    *(".env", ".env.local", "*.swp"),
)
"""The default of `[work] junk`: new files that are no part of a change, although git does not ignore them."""

DEFAULT_MAX_FILE = 5_000_000
"""The default of `[work] max_file`, in bytes."""

DEFAULT_MAX_DIFF = 20_000
"""The default of `[work] max_diff`, in lines added and removed."""

_GIT_FILES = PathPatterns((".gitmodules", ".gitconfig", ".lfsconfig"))
_SUBMODULE, _LINK = 0o160000, 0o120000


class InspectedPath(Protocol):
    """A path that a change touches; `problem` is why its content was not read: it is too big, or cannot be."""

    @property
    def path(self) -> str: ...  # noqa: D102 -- the class describes them
    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def mode(self) -> int: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def link_target(self) -> str | None: ...  # noqa: D102
    @property
    def problem(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class InspectionRules:
    """What the operator allows in a change: sizes are in bytes, and 0 is no limit."""

    protected: tuple[str, ...] = DEFAULT_PROTECTED
    max_file: int = DEFAULT_MAX_FILE
    max_diff: int = DEFAULT_MAX_DIFF
    own_folder: str = "prloom/"


def violations(
    changed: Sequence[InspectedPath],
    *,
    lines: int,
    added: Mapping[str, str],
    rules: InspectionRules,
    links: Mapping[str, str],
    secrets: Mapping[str, str],
) -> tuple[str, ...]:
    """Return a sentence for each thing in a change that must not be committed, the most serious first.

    `lines` is how many it adds and removes; `added` is the text that it adds to each path; `links` are all symbolic
    links in the changed tree, by path; `secrets` are the values that are known, by what they are.
    """
    found = [
        *_of_links(changed, links, rules),
        *(each for path in changed for each in _of_path(path, rules)),
        *_of_secrets(changed, added, secrets),
    ]
    if rules.max_diff and lines > rules.max_diff:
        limit = f"over the limit of {rules.max_diff} ([work] max_diff)"
        found.append(f"the change has {lines} added and removed lines, {limit}")
    return tuple(found)


def barred(paths: Sequence[str], rules: InspectionRules) -> tuple[str, ...]:
    """Return a sentence for each of the paths in conflict that no worker may change, whatever it makes of them."""
    return tuple(each for path in paths for each in _of_name(path, "in conflict", rules))


def _of_links(changed: Sequence[InspectedPath], links: Mapping[str, str], rules: InspectionRules) -> Iterator[str]:
    """Yield the links that lead where none may by what was changed, and the changes of what a protected link leads to.

    A link leads out of the worktree or to a protected path by what was changed if it is new or goes through a new one.
    """
    own = {each.path: each.link_target for each in changed if each.link_target is not None}
    known = {**links, **own}
    protected = PathPatterns(rules.protected)
    for path, target in known.items():
        way = link_targets.follow(path, known)
        leads = f"{printable(path)} is a symbolic link to {printable(target)}"
        pattern = next(filter(None, map(protected.find, (way.end, *sorted(way.passed - {path})))), None)
        if way.leaves and not way.passed.isdisjoint(own):
            yield f"{leads}, which is outside the worktree"
        elif pattern is not None and not way.passed.isdisjoint(own):
            yield f"{leads}, and {printable(pattern)} is protected ([work] protected)"
        if not way.leaves and protected.find(path) is not None:
            yield from _of_led_to(path, [*way.passed, way.end], changed)


def _of_led_to(link: str, led_to: Sequence[str], changed: Sequence[InspectedPath]) -> Iterator[str]:
    """Yield the changes of what a protected link leads to, which an agent or CI reads in its place."""
    places = {folded(each) for each in led_to} - {folded(link)}
    for each in changed:
        path = folded(each.path)
        if path in places or any(path.startswith(f"{place}/") for place in places):
            leads = f"{printable(link)}, which is protected ([work] protected), leads to it"
            yield f"{printable(each.path)} was {each.status}, and {leads}"


def _of_name(path: str, status: str, rules: InspectionRules) -> Iterator[str]:
    """Yield the rules that a path breaks by its name, whatever is there."""
    name = printable(path)
    if PathPatterns((f"/{rules.own_folder}**",)).find(path) is not None:
        yield f"{name} was {status}, and prloom's own folder is not for workers"
    if _GIT_FILES.find(path) is not None:
        yield f"{name} was {status}, and configures git"
    pattern = PathPatterns(rules.protected).find(path)
    if pattern is not None:
        yield f"{name} was {status}, and {printable(pattern)} is protected ([work] protected)"


def _of_path(changed: InspectedPath, rules: InspectionRules) -> Iterator[str]:
    name = printable(changed.path)
    yield from _of_name(changed.path, changed.status, rules)
    if changed.mode == _SUBMODULE:
        yield f"{name} was {changed.status}, and is a submodule or another repository"
    if changed.problem in {"unreadable", "special", "refused"}:
        yield f"{name} {_PROBLEMS[changed.problem]}"
    elif changed.status != "deleted" and rules.max_file and changed.size > rules.max_file:
        limit = f"over the limit of {rules.max_file} bytes ([work] max_file)"
        yield f"{name} has {changed.size} bytes, {limit}"
    elif changed.problem is not None:
        yield f"{name} has {changed.size} bytes, which is too big to be read"


_PROBLEMS = {
    "unreadable": "cannot be read, so that it cannot be inspected",
    "special": "is not a file, a folder or a symbolic link, so git cannot store it",
    "refused": "has a name that git does not allow",
}


def _of_secrets(
    changed: Sequence[InspectedPath], added: Mapping[str, str], secrets: Mapping[str, str]
) -> Iterator[str]:
    for each in changed:
        if each.status != "deleted":
            text = "\n".join((each.path, each.link_target or "", added.get(each.path, "")))
            for what in secret_scan.in_source(text, secrets):
                yield f"{printable(each.path)} contains {what}"
