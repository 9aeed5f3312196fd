"""What tests share does what it is there for."""

from __future__ import annotations

import fork_server


def test_a_forked_process_has_imported_prloom_before_it_begins():
    ours, theirs = fork_server.processes.Pipe(duplex=False)
    process = fork_server.processes.Process(target=fork_server.tell_imported, args=(theirs,))
    process.start()
    imported = ours.recv()
    process.join()
    process.close()

    assert set(fork_server.IMPORTED) <= set(imported)
