"""The keys of `[bridges.local]` whose defaults are this bridge's own. prloom reads this file with the configuration."""

from datetime import timedelta

from pydantic import BaseModel, Field

from prloom.api import Duration


class Config(BaseModel):
    """Feedback from the file `prloom/.local/review.md` of each worktree."""

    poll_interval: Duration = Field(default=timedelta(seconds=2), description="How often prloom reads the files.")
