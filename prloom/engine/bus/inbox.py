"""Read and write the drafts in the inbox: plans that have no branch and no worktree yet."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from prloom.core.plans import front_matter, plan_file
from prloom.core.plans.front_matter import FrontMatter
from prloom.core.text import naming
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.plan import DraftBlock
from prloom.model.record import Timestamp
from prloom.storage import file_stamp, locks, paths
from prloom.storage.document import Document
from prloom.storage.file_stamp import FileStamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

LONGEST = 1 << 20
"""Bytes that a draft may have."""

NO_TITLE = "the plan has no title; begin it with a line such as `# Make it fast`"
NO_TEXT = "the plan is not text in UTF-8; save it as UTF-8, or remove it"

_SUFFIX = paths.draft("")


class PlanDraft(Struct, frozen=True):
    """A draft as it is in the inbox. `error` says why it cannot be used; then `front` may not be what it says.

    `block` says why it is to be corrected before it is queued; only `every` looks for that.
    """

    id: str
    text: str
    front: FrontMatter
    changed_at: Timestamp | None = None
    error: str | None = None
    block: str | None = None

    @property
    def title(self) -> str:
        """The title in its text."""
        return plan_file.title(self.text)

    @property
    def has_work(self) -> bool:
        """Whether it has a TODO, without which there is nothing to make a plan for."""
        return bool(plan_file.todos(self.text))

    @property
    def queued(self) -> bool:
        """Whether the dispatcher may make it a plan."""
        return self.error is None and self.front.status == "queued"


def folder(local: SafeDir) -> SafeDir:
    """Return the inbox in `prloom/.local` of the main checkout; it is made where it is missing."""
    return local.make_sub(paths.INBOX)


def ids(inbox: SafeDir) -> tuple[str, ...]:
    """Return the ids of the drafts, also those that no plan could have, by name."""
    return tuple(name.removesuffix(_SUFFIX) for name in inbox.names() if name.endswith(_SUFFIX) and name[0] != ".")


def stamp(inbox: SafeDir) -> FileStamp:
    """Return the stamp of the folder, by which it is noticed that a draft came, went or was replaced."""
    return file_stamp.of(os.fstat(inbox.fd))


def read(inbox: SafeDir, plan_id: str) -> PlanDraft | None:
    """Return a draft, with the error if it cannot be used; None if there is none of this id."""
    name = paths.draft(plan_id)
    try:
        found = inbox.stat(name)
        content = inbox.read_bytes(name, limit=LONGEST)
        if found is None or content is None:
            return None
        changed_at = Timestamp.of(datetime.fromtimestamp(found.st_mtime, UTC))
        draft = PlanDraft(plan_id, content.decode("utf-8", "replace"), FrontMatter(), changed_at)
    except PrloomError as error:
        return PlanDraft(plan_id, "", FrontMatter(), error=str(error))
    try:
        naming.check_plan_id(plan_id)
        _require_plan(content, draft.title)
        return replace(draft, front=front_matter.parse(draft.text))
    except PrloomError as error:
        return replace(draft, error=f"{inbox.where(name)}: {error}")


def _require_plan(content: bytes, title: str) -> None:
    """Raise PrloomError where a file is no text, or has no title."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PrloomError(NO_TEXT) from error
    if not title.strip():
        raise PrloomError(NO_TITLE)


def every(repository: RepositoryPaths) -> tuple[PlanDraft, ...]:
    """Return all drafts by their ids."""
    inbox = SafeDir.open(repository.root, *paths.LOCAL, paths.INBOX)
    if inbox is None:
        return ()
    with inbox:
        found = tuple(draft for each in ids(inbox) if (draft := read(inbox, each)) is not None)
        return tuple(replace(draft, block=_block_of(inbox, draft)) for draft in found)


def add(inbox: SafeDir, plan_id: str, text: str) -> None:
    """Write a new draft; raises PrloomError where there is one of this id."""
    name = paths.draft(naming.check_plan_id(plan_id))
    encoded = content(inbox, name, text)
    with locks.locked(inbox):
        if inbox.exists(name):
            raise PrloomError(f"there is a draft {plan_id} already; change it with `prloom edit {plan_id}`")
        inbox.replace(name, encoded)


def put(inbox: SafeDir, plan_id: str, text: str) -> None:
    """Write a draft whole, whether there is one of this id or not."""
    name = paths.draft(naming.check_plan_id(plan_id))
    encoded = content(inbox, name, text)
    with locks.locked(inbox):
        inbox.replace(name, encoded)


def edit(inbox: SafeDir, plan_id: str, change: Callable[[str], str]) -> str | None:
    """Change the text of a draft as one step against all other processes, and return it; bytes beside it stay.

    None where there is no such draft, or no longer: it may have become a plan.
    """
    name = paths.draft(naming.check_plan_id(plan_id))
    with locks.locked(inbox):
        content = inbox.read_bytes(name, limit=LONGEST)
        if content is None:
            return None
        text = change(content.decode("utf-8", "surrogateescape"))
        changed = text.encode("utf-8", "surrogateescape")
        if changed != content:
            inbox.replace(name, changed)
    return text


def block(inbox: SafeDir, plan_id: str, reason: str) -> None:
    """Note why a draft is to be corrected before it is queued; that holds for its text as it is now."""
    draft = read(inbox, plan_id)
    if draft is not None:
        noted = DraftBlock(reason=reason, digest=_digest(draft.text))
        Document(inbox, _block_name(plan_id)).save(record.to_wire(noted))


def _block_of(inbox: SafeDir, draft: PlanDraft) -> str | None:
    """Return why a draft is to be corrected before it is queued; None where it was, or was queued all the same.

    A note that cannot be read, such as a folder in its place, is the reason itself: it hides no other draft.
    """
    if draft.error is not None or draft.queued:
        return None
    try:
        if not inbox.exists(_block_name(draft.id)):
            return None
        value = Document(inbox, _block_name(draft.id)).peek().value
        if value is None:
            return None
        noted = record.from_wire(DraftBlock, value)
    except StorageError as error:
        return str(error)
    except msgspec.ValidationError:
        return None
    if noted.digest != _digest(draft.text):
        return None
    return noted.reason


def unblock(inbox: SafeDir, plan_id: str) -> None:
    """Take back what was noted of a draft that is to be corrected."""
    inbox.remove(_block_name(plan_id))


def _block_name(plan_id: str) -> str:
    return f"{plan_id}.block.json"


def _digest(text: str) -> str:
    """Return a digest of a draft without its status."""
    from hashlib import sha256  # noqa: PLC0415 - `prloom status` reads the drafts, of which hardly any is blocked

    return sha256(front_matter.without_status(text).encode("utf-8", "surrogatepass")).hexdigest()


def begin(inbox: SafeDir, plan_id: str, note: Callable[[], None]) -> None:
    """Have it noted that a plan is being made of a draft, as one step against who pauses it.

    Raises PrloomError where it is not queued any more.
    """
    with locks.locked(inbox):
        draft = read(inbox, plan_id)
        if draft is None or not draft.queued:
            raise PrloomError(f"draft {plan_id} is not queued any more")
        note()


def is_under_way(local: SafeDir, plan_id: str) -> bool:
    """Whether a plan is being made of this draft."""
    notes = local.sub(paths.ACTIVATIONS)
    if notes is None:
        return False
    with notes:
        return notes.exists(paths.activation(plan_id))


def move_out(inbox: SafeDir, plan_id: str, take: Callable[[PlanDraft], None]) -> None:
    """Have a draft taken as it is now, and remove it, as one step against all other processes."""
    with locks.locked(inbox):
        draft = read(inbox, plan_id)
        if draft is not None:
            take(draft)
        inbox.remove(paths.draft(plan_id))
        unblock(inbox, plan_id)
        inbox.sync()


def content(inbox: SafeDir, name: str, text: str) -> bytes:
    """Return the bytes of a draft; raises PrloomError where there are too many."""
    encoded = text.encode("utf-8", "surrogateescape")
    if len(encoded) > LONGEST:
        raise PrloomError(f"{inbox.where(name)} would have more than {LONGEST} bytes; shorten the plan")
    return encoded
