"""Hand a request of the operator to the dispatcher, or carry it out at once where none runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prloom.core.commands.requests import RequestVerb
    from prloom.engine.views.request_targets import RequestTarget
    from prloom.storage.paths import RepositoryPaths


def submit_request(
    where: RepositoryPaths,
    verb: RequestVerb,
    targets: Iterable[RequestTarget],
    *,
    done: str,
    reason: str | None = None,
    digests: Mapping[str, str] | None = None,
) -> None:
    """Write the request down, have it carried out, and say what became of it; `done` says it in the past tense."""
    submit_ids(where, verb, [target.id for target in targets], done=done, reason=reason, digests=digests)


def submit_ids(
    where: RepositoryPaths,
    verb: RequestVerb,
    named: Iterable[str],
    *,
    done: str,
    reason: str | None = None,
    digests: Mapping[str, str] | None = None,
    plan: str | None = None,
    err: bool = False,
) -> None:
    """Hand in a request that names events, actions or plans by their ids, or TODOs of a plan; say so, or on stderr."""
    from prloom.engine.operator import submission  # noqa: PLC0415 - only what writes needs it

    made = submission.submit(where, verb, named, reason=reason, digests=digests, plan=plan)
    click.echo(made.message(done), err=err)
