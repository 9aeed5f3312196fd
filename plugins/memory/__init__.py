"""Collect what people want agents to remember: `!memory` notes become a section of a file that agents read.

A line whose first word is `!memory` is a note: the rest of that line. A line of `!memory` alone makes a note of each
line of the paragraph or list beneath it. `/memory` lists the notes, `/memory forget 3` removes one.

The notes are in the plugin's global state; the section of the file is made of them anew each time, so it may be made
again after a crash. The file is one of the operator's checkout, never of a pull request's worktree: notes are policy.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator

from prloom.api import Event, PluginContext, TriageContext

from . import notes, notes_file
from .notes import FoundNotes, NoteChanges, Notes
from .notes_file import BrokenSection

_REMEMBERED = 500
"""Events whose notes were taken that are remembered, so that a repeated event adds nothing."""
_HELP = "`/memory` lists the notes for this repository's agents, `/memory forget N` removes one."
_STRANGER = "Only people whom this repository trusts can leave or remove notes for its agents."


class Config(BaseModel):
    """Without a `file`, the plugin does nothing."""

    model_config = ConfigDict(frozen=True)

    file: str | None = None

    @field_validator("file")
    @classmethod
    def _in_the_repository(cls, name: str | None) -> str | None:
        if name is None:
            return None
        return "/".join(notes_file.path_parts(name))


def register(ctx: PluginContext) -> None:
    """Register for comments, and for `/memory`."""
    if ctx.config.file is None:
        return
    hooks = MemoryHooks(ctx.config.file)
    ctx.register_hook("beforeTriage", hooks.collect)
    ctx.register_command("memory", hooks.run_command, help="list the notes for agents; `/memory forget N` removes one")


class MemoryHooks:
    """Keeps the notes in the global state, and the file up to date."""

    def __init__(self, file: str) -> None:
        self._file = file

    def collect(self, plan: str, triage: TriageContext) -> None:
        """Collect the notes of the batch. A comment that contains only notes is handled; the rest is the agent's."""
        changed = False
        for event in triage.events:
            if event.spoken and not (event.author and event.author.bot):
                changed |= self._collect_from(event, triage)
        if changed:
            self._save(triage)

    def run_command(self, event: Event, triage: TriageContext) -> None:
        """List the notes, or forget one."""
        words = event.body.lstrip().split("\n", 1)[0].split()[1:]
        if triage.is_vouched(event.id):
            answer = _STRANGER
        elif not words:
            answer = _listed(Notes.of(triage.get_global_state("notes")))
        elif words[0].casefold() == "forget" and len(words) == len(("forget", "N")):
            answer = self._forget(words[1], triage)
        else:
            answer = _HELP
        triage.emit_comment(event.reply_to, answer)

    def _collect_from(self, event: Event, triage: TriageContext) -> bool:
        """Add the notes of one comment, and reply; return whether the notes have changed."""
        found = notes.find(event.body)
        if not found.marked and event.supersedes is None:
            return False
        taken = triage.get_state("taken") or []
        changed = False
        if event.id not in taken:
            changed = self._add(event, found, triage)
        if found.marked and not found.more:
            triage.mark_event_handled(event.id, "a note for agents")
        return changed

    def _add(self, event: Event, found: FoundNotes, triage: TriageContext) -> bool:
        if found.marked and triage.is_vouched(event.id):
            triage.emit_comment(event.reply_to, _STRANGER, related_event_id=event.id)
            _remember(event, triage)
            return False
        before = Notes.of(triage.get_global_state("notes"))
        by = "operator"
        if event.author is not None:
            by = notes.one_line(event.author.login)
        added = notes.add(
            before,
            found.notes,
            by=by,
            plan=triage.plan_id,
            event=event.id,
            edited=event.supersedes,
        )
        answer = _answer(added, found)
        if answer is not None:
            triage.emit_comment(event.reply_to, answer, related_event_id=event.id)
        if found.marked:
            _remember(event, triage)
        if added.notes == before:
            return False
        triage.set_global_state("notes", added.notes.stored())
        return True

    def _forget(self, number: str, triage: TriageContext) -> str:
        before = Notes.of(triage.get_global_state("notes"))
        gone = [note for note in before.notes if str(note.number) == number.lstrip("#")]
        if not gone:
            return f"There is no note {number[:20]}. {_HELP}"
        triage.set_global_state("notes", before.without(gone[0].number).stored())
        self._save(triage)
        return f"Note {gone[0].number} is forgotten:\n\n> {gone[0].text}"

    def _save(self, triage: TriageContext) -> None:
        """Update the file; last of all, because what fails before must not show in it."""
        kept = Notes.of(triage.get_global_state("notes")).notes
        try:
            notes_file.rewrite(triage.repo_root, self._file, lambda text: notes_file.with_section(text, kept))
        except BrokenSection as error:
            raise BrokenSection(f"{self._file}: {error}") from error


def _remember(event: Event, triage: TriageContext) -> None:
    triage.update_state("taken", lambda taken: [*(taken or []), event.id][-_REMEMBERED:])


def _answer(added: NoteChanges, found: FoundNotes) -> str | None:
    """Return the reply to a comment with notes, if one is needed."""
    if found.marked and not found.notes:
        return "There is nothing to note: write `!memory` and the note on one line."
    if not added.changed:
        if added.repeated:
            return f"Note {added.repeated[0].number} says that already."
        return None
    lines = [f"- note {note.number}: {note.text}" for note in added.new]
    lines += [f"- note {note.number} says already: {note.text}" for note in added.repeated]
    lines += [f"- forgotten, note {note.number}: {note.text}" for note in added.gone]
    lines += [f"- not noted: {why}" for why in added.refused]
    return "Noted for this repository's agents.\n\n" + "\n".join(lines) + f"\n\n{_HELP}"


def _listed(kept: Notes) -> str:
    if not kept.notes:
        return "There are no notes yet. A line that begins with `!memory` is one."
    return "\n".join(f"- note {note.number}: {note.text} ({note.by}, {note.plan})" for note in kept.notes)
