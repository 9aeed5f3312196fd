"""Durations in a plugin's settings, spelled as in prloom.toml: "250ms", "30s", "5m", "1h30m", "7d"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from prloom.config import durations


class _Spelled:
    """Make pydantic read a duration as prloom.toml spells it; pydantic is imported only where there is a model."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - pydantic's
        from pydantic_core import PydanticCustomError, core_schema  # noqa: PLC0415 - 70 ms that others need not pay

        def read(value: object) -> timedelta:
            try:
                return parse(value)
            except ValueError as error:
                raise PydanticCustomError("duration", "{problem}", {"problem": str(error)}) from error

        return core_schema.no_info_before_validator_function(read, handler(source))


Duration = Annotated[timedelta, _Spelled()]
"""The type of such a setting in a plugin's `Config`: `quiet: Duration = timedelta(minutes=2)`."""


def parse(text: object) -> timedelta:
    """Return the duration that a text spells; raises ValueError, whose text says what to write instead."""
    return durations.parse(text)


def spell(duration: timedelta) -> str:
    """Return a duration as it is written in prloom.toml, exact to the millisecond: `2m`."""
    return durations.spell(duration)
