"""Compare two states of a repository and its remote: what changed outside a plan's worktree while an agent ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from prloom.core.text.naming import printable
from prloom.model.record import Record

RepositoryChangeKind = Literal[
    "branch", "tag", "remote", "ref", "plan", "own", "setting", "unreadable", "file", "checkout"
]

_BRANCHES, _TAGS, _REMOTES, _OWN = "refs/heads/", "refs/tags/", "refs/remotes/", "refs/prloom/"
_HARMLESS_SECTIONS = ("branch.",)  # which branch follows which: git writes it whenever somebody makes a branch
_SHORT = 10
_NAMED = 5
_BY_WHOM = "during the run, by the worker or by somebody else"


class FileState(Record, frozen=True):
    """A file that steers git: its mode, and its content in Base64 or a link's target."""

    mode: int
    content: str


class CheckoutState(Record, frozen=True):
    """What a person's checkout is at, and its changed paths, each with a stamp of what it holds."""

    head: str
    changed: Mapping[str, str]


class RepositoryState(Record, frozen=True, kw_only=True):
    """What a repository has beside the files of one plan's worktree.

    `branch` (None on a detached HEAD) and `head` are of that worktree; `settings` are by file, and None where git
    cannot read it. `remote_refs` are those of origin, and None where it was not asked or did not answer.
    """

    branch: str | None = None
    head: str
    refs: Mapping[str, str]
    plan_branches: tuple[str, ...]
    settings: Mapping[str, Mapping[str, tuple[str, ...]] | None]
    files: Mapping[str, FileState]
    checkouts: Mapping[str, CheckoutState]
    remote_refs: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Difference:
    """One thing that was changed, what it was and is (None: it was not there), and a sentence about it."""

    kind: RepositoryChangeKind
    name: str
    before: str | None
    after: str | None
    text: str

    @property
    def is_violation(self) -> bool:
        """Whether a worker must not have done it.

        Remote branches move whenever somebody fetches; other plans have branches of their own; and what was done to the
        plan's own branch is undone.
        """
        return self.kind not in {"remote", "plan", "own"}


def differences(before: RepositoryState, after: RepositoryState, *, branch: str) -> tuple[Difference, ...]:
    """Return what differs between two states, for the plan with this branch."""
    return (
        *_of_worktree(before, after),
        *_of_refs(before, after, branch),
        *_of_settings(before, after),
        *_of_files(before, after),
        *_of_checkouts(before, after),
    )


def unreadable(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Difference, ...]:
    """Return the files of git's that it could use before and cannot now, of which nothing else is known."""
    names = [name for name, now in after.items() if now is None and before.get(name) is not None]
    text = "git cannot use its file {} any more"
    return tuple(Difference("unreadable", name, "", None, text.format(printable(name))) for name in names)


def moved_on_remote(before: Mapping[str, str], after: Mapping[str, str], own: Mapping[str, str]) -> str | None:
    """Return a sentence about the refs of the remote that differ, or None where none does.

    All three give the commit of each ref. A ref that is where prloom itself has pushed it (`own`) is not named.
    """
    moved = sorted(
        ref
        for ref in before.keys() | after.keys()
        if before.get(ref) != after.get(ref) and own.get(ref, "") != after.get(ref)
    )
    if not moved:
        return None
    named = ", ".join(f"{printable(ref)} {_how_on_remote(before.get(ref), after.get(ref))}" for ref in moved[:_NAMED])
    if len(moved) > _NAMED:
        named = f"{named} and {len(moved) - _NAMED} more"
    return f"refs of origin moved {_BY_WHOM}: {named}"


def _how_on_remote(old: str | None, new: str | None) -> str:
    if new is None:
        return "was deleted"
    return _how(old, new)


def _of_worktree(before: RepositoryState, after: RepositoryState) -> Iterator[Difference]:
    if before.branch != after.branch:
        now = f"commit {after.head[:_SHORT]}"
        if after.branch is not None:
            now = f"branch {printable(after.branch)}"
        yield Difference("own", "HEAD", before.branch, after.branch, f"the worktree was switched to {now}")


def _of_refs(before: RepositoryState, after: RepositoryState, branch: str) -> Iterator[Difference]:
    plans = {*before.plan_branches, *after.plan_branches}
    for ref in sorted(before.refs.keys() | after.refs.keys()):
        old, new = before.refs.get(ref), after.refs.get(ref)
        if old != new and _is_of(ref, branch):
            kind, name = _named(ref, branch, plans)
            yield Difference(kind, ref, old, new, f"{name} {_how(old, new)}")


def _is_of(ref: str, branch: str) -> bool:
    """Whether a ref concerns the plan with this branch: of prloom's own, those for another branch are not its."""
    if not ref.startswith(_OWN):
        return True
    return ref.removeprefix(_OWN).partition("/")[2] == branch


def _named(ref: str, branch: str, plans: set[str]) -> tuple[RepositoryChangeKind, str]:
    """Return what kind of ref it is, and how people call it."""
    if ref.startswith(_BRANCHES):
        name = ref.removeprefix(_BRANCHES)
        kind: RepositoryChangeKind = "branch"
        if name == branch:
            kind = "own"
        elif name in plans:
            kind = "plan"
        return kind, f"branch {printable(name)}"
    if ref.startswith(_TAGS):
        return "tag", f"tag {printable(ref.removeprefix(_TAGS))}"
    if ref.startswith(_REMOTES):
        return "remote", f"remote branch {printable(ref.removeprefix(_REMOTES))}"
    return "ref", printable(ref)


def _how(old: str | None, new: str | None) -> str:
    if old is None and new is not None:
        return f"was created at {new[:_SHORT]}"
    if new is None and old is not None:
        return f"was deleted; it was at {old[:_SHORT]}"
    return f"was moved from {(old or '')[:_SHORT]} to {(new or '')[:_SHORT]}"


def _of_settings(before: RepositoryState, after: RepositoryState) -> Iterator[Difference]:
    for file in sorted(before.settings.keys() | after.settings.keys()):
        old, new = before.settings.get(file, {}), after.settings.get(file, {})
        for key in sorted({*(old or {}), *(new or {})}):
            was, now = (old or {}).get(key), (new or {}).get(key)
            if new is not None and old is not None and was != now and not key.startswith(_HARMLESS_SECTIONS):
                text = f"git's setting {printable(key)} was {_what(was, now)}"
                yield Difference("setting", f"{file}:{key}", _joined(was), _joined(now), text)


def _joined(values: tuple[str, ...] | None) -> str | None:
    if values is None:
        return None
    return "\n".join(values)


def _of_files(before: RepositoryState, after: RepositoryState) -> Iterator[Difference]:
    for name in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(name), after.files.get(name)
        if old != new and name not in before.settings and not name.endswith("/HEAD"):  # that is a ref
            yield Difference(
                "file", name, _content(old), _content(new), f"git's file {printable(name)} was {_what(old, new)}"
            )


def _content(state: FileState | None) -> str | None:
    if state is None:
        return None
    return state.content


def _of_checkouts(before: RepositoryState, after: RepositoryState) -> Iterator[Difference]:
    """Yield what differs in checkouts that were there before and still are."""
    for path in sorted(before.checkouts.keys() & after.checkouts.keys()):
        old, new = before.checkouts[path], after.checkouts[path]
        where = f"the checkout {printable(path)}"
        if old.head != new.head:
            to = printable(new.head.removeprefix("ref: ").removeprefix(_BRANCHES))
            yield Difference("checkout", path, old.head, new.head, f"{where} was switched to {to}")
        names = sorted(each for each in {*old.changed, *new.changed} if old.changed.get(each) != new.changed.get(each))
        if names:
            text = f"files in {where} were changed {_BY_WHOM}: {_some(names)}"
            yield Difference("checkout", path, None, None, text)


def _what(old: object, new: object) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    return "changed"


def _some(names: list[str]) -> str:
    first = ", ".join(printable(name) for name in names[:_NAMED])
    if len(names) > _NAMED:
        return f"{first} and {len(names) - _NAMED} more"
    return first
