"""Run a plugin's executable tool: a process for each call, JSON on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from prloom import processes, programs
from prloom.core.text import bounds
from prloom.engine.tools.call_sequence import CallScene, ToolFailed
from prloom.extensions import child, inputs
from prloom.model import record
from prloom.model.record import Json
from prloom.model.tool import ToolCall, ToolResult, ToolSpec

LIMIT: Final = 4 * 1024 * 1024
"""Bytes of its output that a tool may write."""

_STDERR: Final = 2000
_CHUNK: Final = 1 << 16


@dataclass(frozen=True)
class PluginFolder:
    """The folder of a plugin, in which its executables are and run, and the variables that it asks for."""

    path: Path
    requires_env: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutableHandler:
    """Answers calls of executable tools; `folders` are those of the plugins, `environ` is the dispatcher's."""

    folders: Mapping[str, PluginFolder]
    environ: Mapping[str, str]

    async def answer(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> Json | ToolResult:
        """Return what the process printed; see `call_sequence.ToolHandler`."""
        return await run(tool, call, self.folders[tool.plugin], scene.runtime.folders.repo_root, self.environ)


async def run(
    tool: ToolSpec, call: ToolCall, folder: PluginFolder, repo_root: Path, environ: Mapping[str, str]
) -> Json | ToolResult:
    """Run the process of a call, and return what it printed; raises ToolFailed."""
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    env = inputs.environment(environ, folder.requires_env)
    env |= {child.MARK: mark, "PRLOOM_PLUGIN": tool.plugin, "PRLOOM_REPO_ROOT": str(repo_root)}
    given = msgspec.json.encode(record.to_builtins(_given(call)))
    started = None
    try:
        async with asyncio.timeout(tool.timeout_ms / 1000):
            started = await _started(tool, folder.path, env)
            output, errors = await _exchanged(started, given, tool.name)
            code = await started.wait()
    except TimeoutError:
        raise ToolFailed(f"{tool.name} timed out after {tool.timeout_ms} ms", "timeout_error") from None
    finally:
        if started is not None:
            await asyncio.shield(_end(started, mark))
    if code != 0:
        said = bounds.cut(errors.decode("utf-8", "replace").strip(), _STDERR)
        raise ToolFailed(f"{tool.name} ended with exit code {code}{': ' + said if said else ''}", "plugin_error")
    return _read(output, tool.name)


def _given(call: ToolCall) -> Json:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "planId": call.plan_id,
        "runId": call.run_id,
        "stage": call.stage,
    }


async def _started(tool: ToolSpec, folder: Path, env: Mapping[str, str]) -> Process:
    program = _program(tool, folder, env)
    try:
        return await asyncio.create_subprocess_exec(
            program, *tool.args, cwd=folder, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise ToolFailed(f"{tool.name}: {tool.command} cannot be started: {error.strerror}", "unavailable") from error


def _program(tool: ToolSpec, folder: Path, env: Mapping[str, str]) -> str:
    """Return the program of a tool: one on PATH, or one that lies in the plugin's folder; raises ToolFailed."""
    if "/" in tool.command:
        program = (folder / tool.command).resolve()
        if program.is_relative_to(folder.resolve()):
            return str(program)
        raise ToolFailed(f"{tool.name}: its command {tool.command!r} is not in the plugin's folder", "plugin_error")
    found = programs.locate(tool.command, env)
    if found is None:
        raise ToolFailed(f"{tool.name}: {tool.command} is not on PATH", "unavailable")
    return found


async def _exchanged(started: Process, given: bytes, name: str) -> tuple[bytes, bytes]:
    """Give the process its input, and return what it wrote to its two outputs; raises ToolFailed for too much."""
    assert started.stdin is not None  # noqa: S101 - all three are requested
    assert started.stdout is not None  # noqa: S101
    assert started.stderr is not None  # noqa: S101
    async with asyncio.TaskGroup() as group:
        group.create_task(_write(started.stdin, given))
        output = group.create_task(_all(started.stdout, LIMIT))
        errors = group.create_task(_all(started.stderr, LIMIT))
    if len(output.result()) > LIMIT:
        raise ToolFailed(f"{name} wrote more than {LIMIT} bytes", "plugin_error")
    return output.result(), errors.result()


async def _write(sink: asyncio.StreamWriter, given: bytes) -> None:
    with contextlib.suppress(OSError):  # a tool need not read what it is given
        sink.write(given + b"\n")
        await sink.drain()
        sink.close()
        await sink.wait_closed()


async def _all(source: asyncio.StreamReader, limit: int) -> bytes:
    """Return the stream, cut behind the limit; all of it is read, so that the process can end."""
    kept = b""
    while chunk := await source.read(_CHUNK):
        kept += chunk[: max(limit + 1 - len(kept), 0)]
    return kept


async def _end(started: Process, mark: str) -> None:
    """Kill what is left of the process and of all that it has started, in whatever session."""
    if started.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(started.pid, signal.SIGKILL)
    await asyncio.to_thread(lambda: processes.kill(processes.tagged(child.MARK, mark)))
    await started.wait()
    assert started.stdin is not None  # noqa: S101 - it was requested
    started.stdin.close()
    with contextlib.suppress(OSError):  # else Python logs, some time later, that nobody has heard of the error
        await started.stdin.wait_closed()


def _read(output: bytes, name: str) -> Json:
    try:
        return msgspec.json.decode(output)
    except msgspec.DecodeError as error:
        raise ToolFailed(f"{name} did not answer with JSON: {error}", "plugin_error") from error
