"""What careless changes would make of the functions that keep the order of writes and the gates of trust.

Each weakening replaces one function, which it names, and a test must notice. Nothing of prloom is imported before its
function is called, because the functions are replaced while prloom is imported.
"""

# ruff: noqa: PLC0415 - nothing of prloom may be imported before it is weakened

from __future__ import annotations

import os
import runpy
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

NAMED, CALLED = "PRLOOM_WEAKENED", "PRLOOM_WEAKENED_CALLED"
"""The variables that say which guarantee is weak, and which file notes that the weak function was called."""

Weak = Callable[..., Any]
"""Called with the real function, and with the arguments of the call."""


class Weakening(NamedTuple):
    """One careless change, and the test that must fail: a file of tests/ and a `-k`, or a part of the crash matrix."""

    guarantee: str
    target: str
    weak: Weak
    test: str = ""
    select: str = ""
    matrix: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that has the function."""
        return self.target.partition(":")[0]


class NoSuchNameError(LookupError):
    """What is to be weakened does not exist: it was renamed or removed."""


def weaken(weakening: Weakening, module: ModuleType, called: Callable[[], None]) -> None:
    """Replace the function in its module; `called` is told of each call."""
    owner, name, real = find(weakening, module)
    static = isinstance(owner.__dict__.get(name), staticmethod)

    @wraps(real)
    def weak(*args: Any, **more: Any) -> Any:
        called()
        return weakening.weak(real, *args, **more)

    @wraps(real)
    async def weak_coroutine(*args: Any, **more: Any) -> Any:
        called()
        return await weakening.weak(real, *args, **more)

    made = weak_coroutine if iscoroutinefunction(real) else weak
    setattr(owner, name, staticmethod(made) if static else made)


def noter(file: str) -> Callable[[], None]:
    """Return what makes a file at each call, with functions that no test has replaced."""
    opened, close = os.open, os.close
    return lambda: close(opened(file, os.O_CREAT | os.O_WRONLY))


def weaken_this_process() -> None:
    """Weaken what the environment names in a fork: where it is imported already, and where it will be."""
    weakening = named(os.environ[NAMED])
    runpy.run_path(str(Path(__file__).parent / "site/sitecustomize.py"))
    if weakening.module in sys.modules:
        weaken(weakening, sys.modules[weakening.module], noter(os.environ[CALLED]))


def find(weakening: Weakening, module: ModuleType) -> tuple[Any, str, Any]:
    """Return where the function is, its name there, and itself."""
    owner: Any = module
    *path, name = weakening.target.partition(":")[2].split(".")
    try:
        for each in path:
            owner = getattr(owner, each)
        return owner, name, getattr(owner, name)
    except AttributeError as error:
        raise NoSuchNameError(
            f"{weakening.target} does not exist, so {weakening.guarantee!r} cannot be weakened: "
            "give its new name in tests/weakened/weakenings.py"
        ) from error


def named(guarantee: str) -> Weakening:
    """Return the weakening of a guarantee."""
    return next(each for each in WEAKENINGS if each.guarantee == guarantee)


# ---- what a careless change makes of a function


def nothing(real: Weak, *args: Any, **more: Any) -> None:
    return None


def false(real: Weak, *args: Any, **more: Any) -> bool:
    return False


def true(real: Weak, *args: Any, **more: Any) -> bool:
    return True


def same_digest(real: Weak, token: str) -> bytes:
    return b"the same"


def empty(real: Weak, *args: Any, **more: Any) -> tuple[Any, ...]:
    return ()


def first_argument(real: Weak, first: Any, *args: Any, **more: Any) -> Any:
    return first


def same_text_digest(real: Weak, token: str) -> str:
    return "the same"


async def certainly(real: Weak, *args: Any, **more: Any) -> bool:
    return True


def without_escaping(real: Weak) -> Any:
    made = real()
    made.autoescape = False
    return made


def cursor_before_events(real: Weak, poller: Any, polled: Any, *args: Any) -> Any:
    poller._cursor.save({"state": polled.state})
    return real(poller, polled, *args)


def effects_before_decision(real: Weak, event_store: Any, stage: str, by: str, **parts: Any) -> Any:
    from prloom.model.decision import Decision

    event_store._bring_up(Decision(seq=event_store.state.seq + 1, stage=stage, by=by, **parts))
    return real(event_store, stage, by, **parts)


async def as_if_certain(real: Weak, *args: Any) -> Any:
    return await real(*(replace(each, uncertain=False) if hasattr(each, "uncertain") else each for each in args))


def trusts_everybody(real: Weak, *args: Any) -> Any:
    from prloom.core.trust import Trusted

    return Trusted()


def whatever_the_text(real: Weak, request: Any, state: Any) -> Any:
    return real(replace(request, digests=None), state)


def by_id_alone(real: Weak, found: Any, opened: Any) -> bool:
    return found is not None and found.id == opened.id


def no_flush_of_files(real: Weak, disk: Any, fd: int) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        real(disk, fd)


def not_inspected(real: Weak, *args: Any, **more: Any) -> Any:
    return replace(real(*args, **more), violations=())


async def decided_before_it_is_done(real: Weak, worker: Any, runtime: Any, work: Any, dependencies: Any) -> None:
    if work.phase != "accepted":
        await real(worker, runtime, work, dependencies)
        return
    from prloom.core.work import work_results
    from prloom.engine.work import change, todo_worker
    from prloom.workspace import commits

    repo, message = worker._changes.repo, change._message(runtime, work, worker._changes.secrets)
    made = commits.make(repo, tree=work.tree, parent=work.base, message=message)
    todo_worker._commit(runtime, work_results.committed(work, made))
    commits.advance(repo, runtime.folders.worktree, runtime.plan.branch, to=made, expected=work.base)


@contextmanager
def no_lock(real: Weak, *args: Any, **more: Any) -> Iterator[None]:
    yield


WEAKENINGS = (
    # ---- the order of writes
    Weakening(
        "the order of writes swapped: a bridge's cursor before its events",
        "prloom.engine.polling.poll:BridgeReader._note_forge",
        cursor_before_events,
        matrix=("once", "--story", "life", "--protocol", "append a batch", "--fault", "kill"),
    ),
    Weakening(
        "the order of writes swapped: the effects of a decision before the decision",
        "prloom.engine.bus.event_store:EventStore.commit",
        effects_before_decision,
        matrix=("once", "--story", "life", "--protocol", "plugin state", "--fault", "kill", "--each", "6"),
    ),
    Weakening(
        "a flush left out: of the lines that were appended to a journal",
        "prloom.storage.disk:Disk.fdatasync",
        nothing,
        matrix=("power", "--story", "life", "--protocol", "cursor", "--fault", "cut 0"),
    ),
    Weakening(
        "a flush left out: of a new file before it takes the place of the old one",
        "prloom.storage.disk:Disk.fsync",
        no_flush_of_files,
        matrix=("power", "--story", "life", "--protocol", "plan and status", "--fault", "cut 1", "--each", "12"),
    ),
    Weakening(
        "a flush left out: of the name that a new journal has in its folder",
        "prloom.storage.safe_dir:SafeDir.sync",
        nothing,
        matrix=("power", "--story", "life", "--protocol", "decision", "--fault", "cut 0", "--each", "6"),
    ),
    Weakening(
        "the look-up of markers off: what may have been posted is posted again",
        "prloom.engine.plan.delivery:_send",
        as_if_certain,
        matrix=("once", "--story", "life", "--protocol", "receipt", "--fault", "kill"),
    ),
    Weakening(
        "the repair of torn lines turned off",
        "prloom.storage.repair:heal",
        nothing,
        matrix=("once", "--story", "life", "--protocol", "decision", "--fault", "torn", "--each", "6"),
    ),
    Weakening(
        "the lock of a folder off: two writers at once",
        "prloom.storage.locks:locked",
        no_lock,
        matrix=("once", "--protocol", "locks"),
    ),
    Weakening(
        "the lock of a repository off: two dispatchers at once",
        "prloom.storage.dispatcher_files:DispatcherLock.acquire",
        nothing,
        matrix=("once", "--protocol", "locks"),
    ),
    # ---- a plan's work
    Weakening(
        "a plan's work: the commit is made before the decision that says so",
        "prloom.engine.work.todo_worker:TodoWorker._continue",
        decided_before_it_is_done,
        matrix=("once", "--story", "work", "--protocol", "git update-ref"),
    ),
    Weakening(
        "a plan's work: what a worker leaves behind is inspected before it is committed",
        "prloom.engine.work.change:Changes.inspect_files",
        not_inspected,
        "engine/work/test_what_is_committed.py",
        "is_a_violation",
    ),
    # ---- the log and the receipts
    Weakening(
        "P1: an event store that failed writes nothing past what it does not know",
        "prloom.engine.bus.event_store:EventStore.close",
        nothing,
        "engine/bus/test_event_store.py",
        "after_an_error",
    ),
    Weakening(
        "P3: the receipt is written before the decision",
        "prloom.core.delivery.outbox:receipted",
        first_argument,
        "engine/plan/test_delivery.py",
        "has_a_receipt",
    ),
    # ---- the gates of trust
    Weakening(
        "P7: a stranger's text is held before any hook sees it",
        "prloom.core.trust:judge",
        trusts_everybody,
        "engine/test_promises.py",
        "p7_a_strangers_text",
    ),
    Weakening(
        "P7: an approval is for the text that was seen",
        "prloom.core.commands.requests:changes",
        whatever_the_text,
        "engine/operator/test_control.py",
        "void_for_another_text",
    ),
    Weakening(
        "P7: what is shown is the text that came in, to the letter",
        "prloom.engine.bus.entries:_is",
        by_id_alone,
        "engine/plan/test_admission.py",
        "changed_in_the_journal",
    ),
    Weakening(
        "P8: in a worktree too, the configuration is that of the operator's checkout",
        "prloom.workspace.root:_of_repository",
        first_argument,
        "cli/test_options.py",
        "in_a_plans_worktree",
    ),
    Weakening(
        "P8: what a branch commits does not pass for prloom's own files",
        "prloom.engine.bus.worktree_guard:WorktreeGuard.problem",
        nothing,
        "engine/bus/test_worktree_guard.py",
        "is_seen_when_it_comes",
    ),
    Weakening(
        "A plugin whose guard nothing would call is refused",
        "prloom.api.hooks:_guards_meant",
        empty,
        "api/test_hooks.py",
        "may_be_meant_is_refused",
    ),
    Weakening(
        "P14: an action that contains a secret is withheld",
        "prloom.core.text.secret_scan:in_action",
        empty,
        "engine/plan/test_withheld.py",
        "is_not_sent",
    ),
    Weakening(
        "P14: an agent's run cannot allow its own calls",
        "prloom.core.commands.permission:comment_problem",
        nothing,
        "engine/tools/test_permissions.py",
        "could_have_written_itself",
    ),
    Weakening(
        "P14: a run sees nothing of a home but what its program needs",
        "prloom.engine.runs.run_sandbox:of_run",
        nothing,
        "sandbox/test_sandbox.py",
        "sixty_attempts",
    ),
    Weakening(
        "P14: what a person has changed in a worktree is not overwritten",
        "prloom.workspace.worktree_update:require_possible",
        nothing,
        "workspace/test_worktree_update.py",
        "in_the_same_files",
    ),
    Weakening(
        "P14: in an agent's run, commands only read",
        "prloom.cli.in_run:check",
        nothing,
        "cli/test_in_run.py",
        "switches_no_plugin_on",
    ),
    Weakening(
        "P14: a token opens its own run only",
        "prloom.engine.tools.run_sessions:_digest",
        same_digest,
        "engine/tools/test_permissions.py",
        "token_is_of_one_run",
    ),
    Weakening(
        "P14: only what a run's program has started may use its token",
        "prloom.engine.tools.run_authority:is_of_run",
        true,
        "engine/tools/test_run_sessions.py",
        "belongs_to_the_run",
    ),
    Weakening(
        "P15: a run for a plugin is permitted when it begins, and not only when it was requested",
        "prloom.engine.plugin_requests.agent_runs:PluginRuns._check",
        nothing,
        "engine/plugin_requests/test_methods.py",
        "has_waited_for_its_turn",
    ),
    Weakening(
        "P15: a connection is the plugin's whose token it has",
        "prloom.engine.plugin_requests.grants:_digest",
        same_text_digest,
        "engine/plugin_requests/test_socket.py",
        "token_says_which_plugin",
    ),
    Weakening(
        "P15: only a daemon's own processes may use its token",
        "prloom.engine.plugin_requests.authority:PluginAuthority._belongs",
        certainly,
        "engine/plugin_requests/test_socket.py",
        "serves_only_the_processes",
    ),
    Weakening(
        "web: a page answers to its own names only",
        "prloom.web.access:Names.has",
        true,
        test="web/test_gate.py",
        select="rebound",
    ),
    Weakening(
        "web: an action needs the token of its session",
        "prloom.web.sessions:BrowserSession.accepts",
        true,
        test="web/test_gate.py",
        select="token_of_its_page",
    ),
    Weakening(
        "web: every text is shown as text",
        "prloom.web.render:environment",
        without_escaping,
        test="web/test_pages.py",
        select="each_text_as_text",
    ),
)
