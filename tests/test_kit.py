"""What tests share does what it is there for."""

from __future__ import annotations

import os
import resource
import socket
from contextlib import ExitStack
from pathlib import Path

import command_server
import fork_server


def test_a_forked_process_has_imported_prloom_before_it_begins():
    ours, theirs = fork_server.processes.Pipe(duplex=False)
    process = fork_server.processes.Process(target=fork_server.tell_imported, args=(theirs,))
    process.start()
    imported = ours.recv()
    process.join()
    process.close()

    assert set(fork_server.IMPORTED) <= set(imported)


def test_a_forked_process_is_waited_for_also_by_a_process_that_has_many_files_open():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with ExitStack() as many:
            for _ in range(1024):
                many.enter_context(Path(os.devnull).open())
            ours, theirs = map(many.enter_context, socket.socketpair())
            theirs.sendall(b"17\n")
            process = command_server.ForkedProcess(ours)
            assert process.poll() is None
            theirs.sendall(b"3\n")
            assert (process.pid, process.wait(10)) == (17, 3)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
