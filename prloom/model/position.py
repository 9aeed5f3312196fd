"""A place in a journal that survives rotation."""

from __future__ import annotations

import msgspec


class Position(msgspec.Struct, frozen=True, order=True, rename="camel"):
    """The byte `offset` of a line within the numbered `segment` of a journal; positions are ordered."""

    segment: int = 1
    offset: int = 0


START = Position()
