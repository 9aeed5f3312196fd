"""Hand a request of the operator to the dispatcher, or carry it out at once where none runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import context, terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prloom.core.requests import Verb
    from prloom.engine.views.request_targets import RequestTarget
    from prloom.storage.paths import RepositoryPaths


_VERBS: Mapping[Verb, str] = {
    "todo_open": "open",
    "todo_go": "allow",
    "draft_send": "send",
    "draft_edit": "edit",
    "draft_drop": "drop",
}
"""What people call a request, where that is not its verb."""


def submit_request(
    where: RepositoryPaths,
    verb: Verb,
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
    verb: Verb,
    named: Iterable[str],
    *,
    done: str,
    reason: str | None = None,
    digests: Mapping[str, str] | None = None,
    plan: str | None = None,
    err: bool = False,
) -> None:
    """Hand in a request that names events, actions or plans by their ids, or TODOs of a plan; say so, or on stderr.

    Raises PrloomError in an agent's run: a request counts as the operator's own word.
    """
    context.refuse_in_run(click.get_current_context().command_path)
    from datetime import UTC, datetime  # noqa: PLC0415 - only what writes needs them

    from prloom.core.requests import OperatorRequest  # noqa: PLC0415
    from prloom.engine.operator import control, offline  # noqa: PLC0415
    from prloom.storage import paths  # noqa: PLC0415
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415

    now = datetime.now(UTC)
    ids = tuple(dict.fromkeys(named))
    request = OperatorRequest(control.request_id(now), verb, ids, reason=reason, digests=digests, plan=plan)
    with SafeDir.make(where.root, *paths.LOCAL) as local:
        control.append_request(local, request, now)
    left = offline.carry_out(where, lambda: datetime.now(UTC))
    names = ", ".join(map(terminal.clean, ids))
    if left is None:
        click.echo(f"{done}: {names}.", err=err)
    elif left == offline.RUNNING:
        click.echo(f"Sent to the running dispatcher, to {_VERBS.get(verb, verb)}: {names}.", err=err)
    else:
        click.echo(
            f"Saved for the next `prloom start`, to {_VERBS.get(verb, verb)}: {names}. "
            f"It cannot be done now: {terminal.clean(left)}.",
            err=err,
        )
