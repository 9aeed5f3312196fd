"""A `prloom` for scripts: asks the command server of a test for a fork, with its own streams, and ends as that ends.

It starts without any package, so it takes a thirtieth of the time that prloom takes to start. The test hands down the
server's socket, and says its number in COMMAND_SERVER.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import NoReturn

SERVER = "COMMAND_SERVER"


def main() -> NoReturn:
    """Have the command run, and hand on the signals that it is sent."""
    env = dict(os.environ)
    if SERVER not in env:  # what a command has started runs prloom itself
        os.execv(sys.executable, [sys.executable, "-m", "prloom", *sys.argv[1:]])
    requests = socket.socket(fileno=int(env.pop(SERVER)))
    ours, theirs = socket.socketpair()
    socket.send_fds(requests, [b"x"], [theirs.fileno(), 0, 1, 2])
    theirs.close()
    umask = os.umask(0o77)
    argv = ["prloom", *sys.argv[1:]]
    request = {"argv": argv, "cwd": os.getcwd(), "env": env, "umask": umask}  # noqa: PTH109 - pathlib takes long
    ours.sendall(f"{json.dumps(request)}\n".encode())
    answers = ours.makefile("r")
    pid = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda sent, _: os.kill(pid, sent))
    code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
