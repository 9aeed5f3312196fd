"""Make ids: texts that sort about as they were made, so that an index of them grows at its end."""

import os
import time

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case: no i, l, o, u
_PAIRS = tuple(one + two for one in _DIGITS for two in _DIGITS)


def new() -> str:
    """Return an id of 20 letters and digits: milliseconds since 1970, and 50 random bits."""
    when, chance = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(7), "big") >> 6
    pairs = _PAIRS
    return (
        f"{pairs[when >> 40 & 1023]}{pairs[when >> 30 & 1023]}{pairs[when >> 20 & 1023]}{pairs[when >> 10 & 1023]}"
        f"{pairs[when & 1023]}{pairs[chance >> 40]}{pairs[chance >> 30 & 1023]}{pairs[chance >> 20 & 1023]}"
        f"{pairs[chance >> 10 & 1023]}{pairs[chance & 1023]}"
    )
