"""What attacks on `prloom web` cost the dispatcher beside it: the hook of an event, while they go on and while not."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import latency
import rig
from harness import Figure, Row, Sizes, alternate, blank, compared

ATTACKER = """
import asyncio, sys
PORT = int(sys.argv[1])
HEADS = (
    b"GET /live HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % PORT,
    b"GET / HTTP/1.1\\r\\nHost: evil.example:%d\\r\\n\\r\\n" % PORT,
    b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nCookie: prloom_%d=guessed\\r\\n\\r\\n" % (PORT, PORT),
    b"POST /actions/pause HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nOrigin: http://evil.example\\r\\n"
    b"Content-Length: 1\\r\\n\\r\\nx" % PORT,
)

async def connected(head, more=b"", slow=False):
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(head)
    try:
        while more:
            writer.write(more)
            await writer.drain()
        if slow:
            await asyncio.sleep(30)
        await reader.read()
    finally:
        writer.close()

async def again_and_again(*attack):
    while True:
        try:
            await connected(*attack)
        except OSError:
            await asyncio.sleep(0.01)

async def main():
    body = b"POST /login HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: 1073741824\\r\\n\\r\\n" % PORT
    slow = (b"GET / HTTP/1.1\\r\\nHost: 127", b"", True)
    attacks = [(head,) for head in HEADS] + [(body, b"x" * 65536)] + [slow] * 200
    await asyncio.gather(*(again_and_again(*attack) for attack in attacks))

asyncio.run(main())
"""
_PATIENCE = 60.0


def beside(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure until the hook of an event is called while programs attack the page, and while they have stopped."""
    root = rig.repository(folder / "repository", config="[bridges.local]\nenabled = false\n", hook=latency.HOOK)
    with rig.started(root), _served(root) as port, _attacked(port) as attacker:

        def attacked() -> float:
            attacker.send_signal(signal.SIGCONT)
            return latency.to_hook(root, pause=0.3)

        def alone() -> float:
            attacker.send_signal(signal.SIGSTOP)
            return latency.to_hook(root, pause=0.3)

        alone()  # the hook's program starts
        paired = alternate(attacked, alone, sizes.latency_rounds, warm=3)
    work = "event → hook called while strangers attack the page of `prloom web`: latency (p50)"
    figure = compared(blank("beside-web-attacks", work, "nobody attacks it", 1.2), paired)
    yield replace(figure, value=paired.subject / paired.yardstick)


@contextmanager
def _served(root: Path) -> Iterator[int]:
    """Serve the pages of a repository, and yield the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*rig.PRLOOM, "web", "--port", str(port)]
    with (
        (root / "web.log").open("wb") as log,
        subprocess.Popen(command, cwd=root, stdout=log, stderr=log, env=rig.environ(root)) as process,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/healthz", root / "web.log")
            yield port
        finally:
            process.send_signal(signal.SIGTERM)


def _wait_for(url: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            urlopen(url, timeout=_PATIENCE).close()  # noqa: S310 - this machine's
        except URLError as error:
            if time.monotonic() > end:
                raise TimeoutError(f"the page is not served; see {log}") from error
            time.sleep(0.1)
        else:
            return


@contextmanager
def _attacked(port: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", ATTACKER, str(port)]) as process:
        try:
            yield process
        finally:
            process.kill()


ROWS = (Row("beside web attacks", beside),)
