"""Inspect a change by the rules of a configuration: the same on the dispatcher's machine and on a worker's."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.config.work import WorkSection
from prloom.core.work import inspection
from prloom.core.work.inspection import InspectionRules
from prloom.workspace import trees
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot


def rules(work: WorkSection) -> InspectionRules:
    """Return the rules of a configuration."""
    return InspectionRules(protected=work.protected, max_file=work.max_file, max_diff=work.max_diff)


def violations(
    repo: Repository,
    taken: WorktreeSnapshot,
    work: WorkSection,
    *,
    secrets: Mapping[str, str],
) -> tuple[str, ...]:
    """Return a sentence for each thing in a change that must not be committed, the most serious first."""
    return inspection.violations(
        taken.paths,
        lines=taken.lines,
        added=trees.added_texts(repo, taken.base, taken.tree),
        rules=rules(work),
        links=taken.links,
        secrets=secrets,
    )
