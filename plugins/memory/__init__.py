"""Collect what people want agents to remember: `!memory` notes become a section of a file that agents read.

A line whose first word is `!memory` is a note: the rest of that line. A line of `!memory` alone makes a note of each
line of the paragraph or list beneath it. `/memory` lists the notes, `/memory forget 3` removes one.

The notes are in the plugin's global state; the section of the file is made of them anew each time, so it may be made
again after a crash. The file is one of the operator's checkout, never of a pull request's worktree: notes are policy.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator

from prloom.api import PluginContext

from . import notes_file
from .hooks import MemoryHooks


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
