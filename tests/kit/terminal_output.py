"""Read what programs have printed on a pseudo-terminal."""

from __future__ import annotations

import os


def read_all(ours: int) -> bytes:
    """Return all that comes out of a pseudo-terminal whose other side is closed, and close it.

    One read may get only a part: the kernel hands over in the background what was written.
    """
    found = b""
    try:
        while chunk := os.read(ours, 65536):
            found += chunk
    except OSError:  # Linux says so that the other side is closed
        pass
    finally:
        os.close(ours)
    return found
