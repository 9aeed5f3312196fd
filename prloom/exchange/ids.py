"""Make ids: texts that sort about as they were made, so that an index of them grows at its end."""

import os
import time

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case: no i, l, o, u
_PAIRS = tuple(one + two for one in _DIGITS for two in _DIGITS)


def new() -> str:
    """Return an id of 20 letters and digits: milliseconds since 1970, and 50 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds & (1 << 50) - 1) << 50 | int.from_bytes(os.urandom(7), "big") >> 6
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(90, -1, -10)])
