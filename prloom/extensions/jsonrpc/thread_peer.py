"""Speak JSON-RPC from plain threads: the side of a plugin's process, where each request has a thread of its own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from functools import partial
from io import FileIO
from queue import SimpleQueue
from typing import BinaryIO

import msgspec

from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import (
    ConnectionLostError,
    ErrorResponse,
    Notification,
    ProtocolError,
    Request,
    Response,
    RpcError,
    RpcMessage,
    RpcReceived,
)
from prloom.model.record import Json

ThreadJob = Callable[[], object]
"""A piece of work; it raises nothing, and what it returns is ignored."""

KEPT = 4
"""How many threads are kept: the stack of each counts for the memory that the process may have."""


class Threads:
    """The threads that wait for a job, each at a queue of its own. Jobs are begun from one thread only."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[ThreadJob]] = []
        self._room = threading.Semaphore(KEPT)

    def begin(self, job: ThreadJob) -> None:
        """Do a job beside all others, in a context that is as empty as that of a new thread."""
        if self._idle:
            jobs = self._idle.pop()
            self._room.release()
        else:
            jobs = SimpleQueue()
            threading.Thread(target=self._work, args=(jobs,), name="plugin call", daemon=True).start()
        jobs.put(job)

    def _work(self, jobs: SimpleQueue[ThreadJob]) -> None:
        Context().run(jobs.get())
        while self._room.acquire(blocking=False):
            self._idle.append(jobs)
            Context().run(jobs.get())


AnswerInThread = Callable[[str, Json], Json]
"""Return the result of a method with these params; raise RpcError, or anything."""


class ThreadPeer:
    """One end of a connection. `serve` reads it; requests may be made from any thread."""

    def __init__(self, source: BinaryIO, sink: FileIO, answer: AnswerInThread) -> None:
        self._source = source
        self._sink = sink
        self._answer = answer
        self._threads = Threads()
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[jsonrpc.Id, Future[Json]] = {}

    def serve(self) -> None:
        """Read until the other side is gone."""
        while (line := self._line()).endswith(b"\n"):  # one that is torn, or longer than any message, is the last
            try:
                message = jsonrpc.decode(line)
            except ProtocolError as error:
                self._send(ErrorResponse(None, error.code, str(error)))
            else:
                self._take(message)
        self._lose()

    def request(self, method: str, params: Json) -> Future[Json]:
        """Ask the other side; the future fails with RpcError or ConnectionLostError."""
        number = next(self._numbers)
        future: Future[Json] = Future()
        future.set_running_or_notify_cancel()  # from here on it cannot be cancelled, so the reader may always set it
        self._waiting[number] = future
        self._send(Request(number, method, params))
        return future

    def notify(self, method: str, params: Json) -> None:
        """Tell the other side something."""
        self._send(Notification(method, params))

    def _line(self) -> bytes:
        try:
            return self._source.readline(jsonrpc.LIMIT + 1)
        except OSError:  # closed by the plugin's own code
            return b""

    def _take(self, message: RpcReceived) -> None:
        match message:
            case Request():
                self._threads.begin(partial(self._reply, message))
            case Response(id=of) if future := self._waiting.pop(of, None):
                future.set_result(message.result)
            case ErrorResponse(id=int() | str() as of) if future := self._waiting.pop(of, None):
                future.set_exception(RpcError(message.message, message.code, message.data))
            case _:
                pass  # an answer for which nothing waits any more, or news that this side knows nothing to do with

    def _reply(self, request: Request) -> None:
        reply: RpcMessage
        try:
            reply = Response(request.id, self._answer(request.method, request.params))
        except RpcError as error:
            reply = ErrorResponse(request.id, error.code, str(error), error.data)
        except msgspec.ValidationError as error:
            reply = ErrorResponse(request.id, jsonrpc.INVALID_PARAMS, f"{request.method}: {error}")
        except BaseException as error:  # noqa: BLE001 - whatever it is, the other side waits for an answer
            reply = ErrorResponse(request.id, jsonrpc.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        try:
            self._send(reply)
        except ProtocolError as error:
            self._send(ErrorResponse(request.id, error.code, str(error)))

    def _send(self, message: RpcMessage) -> None:
        line = jsonrpc.encode(message)
        try:
            with self._writing:
                rest = memoryview(line)
                while rest:  # the sink has no buffer, so that a fork cannot copy half a message
                    rest = rest[self._sink.write(rest) :]
        except OSError:
            self._lose()

    def _lose(self) -> None:
        for number in list(self._waiting):
            if future := self._waiting.pop(number, None):
                future.set_exception(ConnectionLostError("the dispatcher has ended"))
