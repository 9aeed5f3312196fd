"""The base of every table of prloom.toml."""

from pydantic import BaseModel, ConfigDict


class ConfigSection(BaseModel):
    """A table of prloom.toml: frozen, and closed to keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
