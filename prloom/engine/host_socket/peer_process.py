"""Find out which process is at the other end of a Unix socket, and whose it is."""

from __future__ import annotations

import socket
import struct
import sys
from dataclasses import dataclass
from typing import Final

from prloom import processes

_SOL_LOCAL: Final = 0  # <sys/un.h> of macOS
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_XUCRED: Final = struct.Struct("2IH16I")


@dataclass(frozen=True)
class PeerProcess:
    """The process that has connected, and its user; None for a process that the system does not tell."""

    uid: int
    pid: int | None = None


def of(connected: socket.socket) -> PeerProcess:
    """Return the process at the other end; raises OSError where the system does not tell the user."""
    if sys.platform == "linux":
        pid, uid = processes.peer(connected)
        return PeerProcess(uid, pid or None)
    given = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
    uid = _XUCRED.unpack(given.ljust(_XUCRED.size, b"\0"))[1]
    pid = struct.unpack("i", connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))[0]
    return PeerProcess(uid, pid or None)
