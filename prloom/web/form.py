"""Read what a form has sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from prloom.errors import PrloomError

_MOST_FIELDS: Final = 2000


class Form(NamedTuple):
    """The fields of a form, each with its values."""

    values: Mapping[str, Sequence[str]]

    def one(self, name: str, otherwise: str = "") -> str:
        """Return the last value of a field."""
        found = self.values.get(name)
        if not found:
            return otherwise
        return found[-1]

    def needed(self, name: str, what: str) -> str:
        """Return a field that has to be there; raises PrloomError, which says that `what` is missing."""
        found = self.one(name).strip()
        if not found:
            raise PrloomError(f"{what} is missing; fill it in, and send the form again")
        return found

    def every(self, name: str) -> Sequence[str]:
        """Return all values of a field."""
        return self.values.get(name, ())


def read(body: bytes) -> Form:
    """Return the fields of a form; none where the body is not one."""
    try:
        return Form(parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return Form({})


def local_path(text: str) -> str:
    """Return a path of this server to go to; that of the first page where a text is none."""
    is_path = text.startswith("/") and not text.startswith("//")
    if is_path and "\\" not in text and text.isascii() and text.isprintable():
        return text
    return "/"
