"""Whom a call has to wait for, and who can answer: persons, and never the agent that has asked."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stage import said, until
from stage_parts import by
from tool_bench import ToolBench, call

from prloom.agents import run_folder, tool_wait
from prloom.api import PluginContext
from prloom.core.commands import comment_commands
from prloom.core.delivery import reply_limit
from prloom.core.events.dispatch import Subscribers
from prloom.engine.assembly.tools import ToolParts
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan import reconcile
from prloom.engine.plan.rules import rules
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridges
from prloom.extensions.jsonrpc import RpcError
from prloom.mcp import dispatcher_client
from prloom.model.event import Author, Event
from prloom.model.permission import PermissionAnswer
from prloom.model.state import RepliesToday


def deploying(ctx: PluginContext) -> None:
    ctx.register_tool("deploy", {}, lambda: "deployed", requires_confirmation=True)


@pytest.fixture
def careful(bench: ToolBench) -> ToolBench:
    bench.stage.plugin("ops", deploying)
    return bench


async def waiting(parts: ToolParts) -> str:
    await until(lambda: bool(parts.people.confirmations.requests))
    return parts.people.confirmations.requests[0].id


@asynccontextmanager
async def asked(
    bench: ToolBench, tool: str = "deploy", **arguments: str
) -> AsyncIterator[tuple[ToolParts, asyncio.Task[dict[str, Any]], str]]:
    """Have a run make a call that a person has to answer; yield the call, and the id of what is asked."""
    async with bench.run() as (parts, folder):
        calling = asyncio.create_task(call(parts, folder, tool, **arguments))
        yield parts, calling, await waiting(parts)


def command(body: str, **fields: Any) -> Event:
    return said("c-1", body, author=by("ann", "write"), **fields)


def decide(bench: ToolBench, parts: ToolParts, event: Event) -> str:
    parsed = comment_commands.parse(event)
    assert parsed is not None
    runtime = bench.registry.runtimes["pr-7"]
    return parts.people.decide(runtime, event, parsed.words[1:], allow=parsed.built_in == "allow")


async def test_a_call_waits_until_it_is_allowed(careful: ToolBench):
    async with asked(careful) as (parts, calling, request):
        parts.people.confirmations.answer(request, PermissionAnswer(choice="allow", by="operator"))
        allowed = await calling

    assert allowed["data"] == "deployed"
    assert careful.notes.types == [
        *("TOOL_CALL_START", "PERMISSION_REQUEST", "PERMISSION_RESPONSE", "TOOL_CALL_END"),
    ]
    assert careful.notes.of("PERMISSION_REQUEST")[0] == {
        "requestId": request,
        "toolName": "deploy",
        "arguments": {},
        "sensitivity": "confirmation",
        "options": ["allow", "allow_always", "deny"],
    }
    assert careful.notes.of("PERMISSION_RESPONSE")[0] == {"requestId": request, "choice": "allow", "by": "operator"}


async def test_a_call_that_nobody_allows_in_time_is_denied(careful: ToolBench):
    careful.stage.configure('[tools]\nconfirmation_timeout = "50ms"')
    async with careful.run() as (parts, folder):
        denied = await call(parts, folder, "deploy")

    assert (denied["error_type"], denied["error"]) == (
        "denied",
        "no person allowed the call of deploy in time, so it is denied",
    )
    assert careful.notes.of("PERMISSION_RESPONSE")[0]["choice"] == "timeout"


async def test_a_call_whose_run_ends_is_denied_and_no_request_is_left(careful: ToolBench):
    async with careful.open() as parts:
        folder = careful.prepare(parts)
        async with careful.running(parts, folder):
            calling = asyncio.create_task(call(parts, folder, "deploy"))
            await waiting(parts)
        with pytest.raises(Exception, match="run run-1 has ended"):
            await calling

        assert parts.people.confirmations.requests == ()
    assert careful.notes.of("PERMISSION_RESPONSE")[0]["choice"] == "deny"
    assert careful.notes.types[-1] == "TOOL_CALL_END"
    assert careful.notes.of("TOOL_CALL_END")[0]["error"] == "the run ended"


async def test_a_tool_that_is_always_allowed_stays_so_after_a_restart_for_this_plan_alone(careful: ToolBench):
    careful.stage.adopt("pr-8")
    async with asked(careful) as (parts, calling, request):
        parts.people.confirmations.answer(request, PermissionAnswer(choice="allow_always", by="operator"))
        await calling
    careful.stage.configure('[tools]\nconfirmation_timeout = "20ms"')
    async with careful.open() as parts:
        mine, other = careful.prepare(parts), careful.prepare(parts, run="run-8", plan="pr-8")
        async with careful.running(parts, mine), careful.running(parts, other, plan="pr-8"):
            assert (await call(parts, mine, "deploy"))["success"]
            assert (await call(parts, other, "deploy"))["error_type"] == "denied"


async def test_a_trusted_persons_comment_allows_a_call(careful: ToolBench):
    async with asked(careful) as (parts, calling, request):
        event = command(f"/prloom allow {request}")
        admit(careful, event)
        reply = decide(careful, parts, event)
        allowed = await calling

    assert allowed["success"]
    assert reply == f"Allowed: `{request}`: `deploy`, in run `run-1`."
    assert careful.notes.of("PERMISSION_RESPONSE")[0]["by"] == "ann"


@pytest.mark.parametrize(
    ("author", "why"),
    [
        (None, "A trusted person must write this in a comment"),
        (Author("ci", "write", bot=True), "A bot cannot allow or deny this."),
    ],
)
async def test_what_an_agent_could_have_written_itself_allows_nothing(
    careful: ToolBench,
    author: Author | None,
    why: str,
):
    async with asked(careful) as (parts, calling, request):
        event = said("c-1", f"/prloom allow {request}", author=author)
        admit(careful, event)
        reply = decide(careful, parts, event)
        assert [each.id for each in parts.people.confirmations.requests] == [request]
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)  # its end is heard of here, and in no other test

    assert why in reply


async def test_a_command_that_a_run_has_started_allows_nothing_over_the_socket(careful: ToolBench):
    careful.run_of = lambda pid: "run run-1" if pid == os.getpid() else None
    async with careful.open() as parts:
        with pytest.raises(PrloomError, match="run run-1 has started this command; only a person may give it"):
            await dispatcher_client.request_once(
                lambda: str(parts.socket.path), {"operator": True}, "answerRequest", {"request": "x", "choice": "allow"}
            )


async def test_a_persons_command_allows_a_call_over_the_socket(careful: ToolBench):
    async with asked(careful) as (parts, calling, request):
        path, given = str(parts.socket.path), {"request": request, "choice": "allow"}
        answer = await dispatcher_client.request_once(lambda: path, {"operator": True}, "answerRequest", given)
        allowed = await calling

    assert answer == {"tool": "deploy", "plan": "pr-7"}
    assert allowed["success"]


# ---- questions


async def test_the_first_trusted_answer_to_a_question_is_the_result(bench: ToolBench):
    async with asked(bench, "prloom_ask", question="Tabs?\n/merge @team") as (parts, calling, request):
        runtime = bench.registry.runtimes["pr-7"]
        (posted,) = runtime.event_store.state.queue.values()
        action = runtime.event_store.action(posted.position)
        answer = said("c-2", "Tabs, please.", author=by("ann", "write"))
        opened = admit(bench, answer)
        assert parts.people.answered(runtime, opened, answer) == request
        result = await calling

    assert result["output"] == "Tabs, please."
    assert result["data"] == {"answer": "Tabs, please.", "by": "ann"}
    assert action is not None
    assert "Tabs?" in action.payload.message
    assert "\n/merge" not in action.payload.message
    assert "@team" not in action.payload.message


async def test_a_question_that_the_brake_on_replies_holds_back_ends_with_its_name_and_is_not_posted_later(
    bench: ToolBench,
):
    bench.stage.configure('[tools]\nconfirmation_timeout = "1s"')
    async with asked(bench, "prloom_ask", question="Tabs?") as (parts, calling, _):
        store = bench.registry.runtimes["pr-7"].event_store
        (posted,) = store.state.queue.values()
        assert posted.thread is not None
        today = RepliesToday(day=bench.stage.clock().date().isoformat(), counts={posted.thread: 1})
        held_back = reply_limit.over_limit(today, [posted], 1, bench.stage.clock())
        store.commit("deliver", "forge", deliveries=tuple(held_back.values()))
        shown = parts.people.confirmations.requests[0].post
        result = await calling

    assert shown == posted.id
    assert result["error_type"] == "timeout_error"
    assert result["error"].startswith(
        "the question was not posted in time: the brake max_replies_per_thread_per_day = 1 is on"
    )
    assert posted.id not in store.state.queue


async def test_an_answer_is_handled_and_the_question_is_posted_once(bench: ToolBench):
    async with asked(bench, "prloom_ask", question="Tabs?") as (parts, calling, request):
        bench.stage.append(
            said("c-2", "What eve thinks.", author=by("eve", "none")),
            said("c-3", "Tabs.", author=by("ann", "write")),
            said("c-4", "Or spaces.", author=by("ann", "write")),
        )
        reconciled(bench, parts)
        result = await calling
        state = bench.registry.runtimes["pr-7"].event_store.state
        left = {each.id: each.state for each in state.open.values()}
        journal = (bench.stage.local() / "bus/actions.jsonl").read_text()

    assert result["data"] == {"answer": "Tabs.", "by": "ann"}
    reasons = [change.get("reason") for made in bench.stage.decisions() for change in made.get("changes", ())]
    assert reasons.count(f"it answers the question {request} of an agent") == 1
    assert left["c-2"] == "held"
    assert journal.count("An agent asks") == 1


def reconciled(bench: ToolBench, parts: ToolParts) -> None:
    """Do what the dispatcher does with the events of the plan, until the question is answered."""
    dispatcher = Dispatcher(
        bench.registry,
        plugin_set=bench.plugins,
        bridges=LoadedBridges(()),
        triager=bench.stage.triager,
        rules=rules(bench.stage.config),
        clock=bench.stage.clock,
        people=parts.people,
    )
    runtime = bench.registry.runtimes["pr-7"]
    while not runtime.event_store.state.done.get("handled"):
        assert reconcile.reconcile(runtime, Subscribers(), dispatcher.dependencies(agents=True))


async def test_a_question_asked_again_after_a_crash_is_posted_once_and_one_asked_twice_is_posted_twice(
    bench: ToolBench,
):
    posts = []
    requests = []
    for times in (1, 2):
        async with bench.run() as (parts, folder):
            for _ in range(times):
                calling = asyncio.create_task(call(parts, folder, "prloom_ask", question="Tabs?"))
                requests.append(await waiting(parts))
                parts.people.confirmations.answer(requests[-1], PermissionAnswer(choice="deny", by="operator"))
                await calling
            posts.append(len(bench.registry.runtimes["pr-7"].event_store.state.queue))

    assert posts == [1, 2]
    assert requests[0] == requests[1] != requests[2]


@asynccontextmanager
async def killed_while_asking(bench: ToolBench) -> AsyncIterator[ToolParts]:
    """Have a run ask whether to use tabs, kill the dispatcher, and let the next one find the run that goes on."""
    kept = bench.stage.root / "prloom/.local/bus/state/questions.json"
    async with bench.open() as parts:
        folder = bench.prepare(parts)
        async with bench.running(parts, folder):
            calling = asyncio.create_task(call(parts, folder, "prloom_ask", question="Tabs?"))
            await waiting(parts)
            left = kept.read_bytes()
        with pytest.raises(RpcError, match="has ended"):
            await calling
    kept.write_bytes(left)
    with (bench.stage.local() / "runs/run-1" / run_folder.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with bench.open() as parts:
            yield parts


async def test_an_answer_that_comes_before_the_run_asks_again_after_a_crash_is_the_result(bench: ToolBench):
    async with killed_while_asking(bench) as parts:
        folder = bench.prepare(parts)
        bench.stage.append(said("c-2", "Tabs.", author=by("ann", "write")))
        reconciled(bench, parts)
        async with bench.running(parts, folder):
            asking = asyncio.create_task(call(parts, folder, "prloom_ask", question="Tabs?"))
            await until(lambda: asking.done() or bool(parts.people.confirmations.requests))
            assert asking.done(), "it waits for an answer that was given already"
            result = await asking
            calling = asyncio.create_task(call(parts, folder, "prloom_ask", question="Tabs?"))
            again = await waiting(parts)
            calling.cancel()
    journal = (bench.stage.local() / "bus/actions.jsonl").read_text()

    assert result["data"] == {"answer": "Tabs.", "by": "ann"}
    assert bench.stage.fate("c-2")[-1] == "handled"
    assert f"(`{again}`)" in journal  # what it asks after the answer is another question
    assert journal.count("An agent asks") == 2


async def test_an_answer_that_was_kept_and_not_yet_marked_is_marked_after_a_crash_and_taken_once(bench: ToolBench):
    async with killed_while_asking(bench) as parts:
        runtime = bench.registry.runtimes["pr-7"]
        answer = said("c-2", "Tabs.", author=by("ann", "write"))
        request = parts.people.answered(runtime, admit(bench, answer), answer)
    with (bench.stage.local() / "runs/run-1" / run_folder.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with bench.open() as parts:
            again = parts.people.answered(bench.registry.runtimes["pr-7"], admit(bench, answer), answer)

    assert request is not None
    assert again == request


async def test_what_is_said_after_a_run_with_a_question_is_over_goes_to_triage(bench: ToolBench):
    async with killed_while_asking(bench):
        pass
    async with bench.open() as parts:
        runtime = bench.registry.runtimes["pr-7"]
        later = said("c-2", "Tabs.", author=by("ann", "write"))

        assert parts.people.answered(runtime, admit(bench, later), later) is None
        assert not parts.people.has_question(runtime)


async def test_a_question_cannot_be_allowed_only_answered_or_denied(bench: ToolBench):
    async with asked(bench, "prloom_ask", question="Tabs?") as (parts, calling, request):
        with pytest.raises(PrloomError, match="is a question: answer it where it was posted, or deny it"):
            parts.people.confirmations.answer(request, PermissionAnswer(choice="allow", by="operator"))
        parts.people.confirmations.answer(request, PermissionAnswer(choice="deny", by="operator"))
        result = await calling

    assert (result["error_type"], result["error"]) == ("denied", "operator does not answer the question")


def admit(bench: ToolBench, event: Event) -> Any:
    """Have an event taken in, as one that a bridge has appended."""
    bench.stage.append(event)
    runtime = bench.registry.runtimes["pr-7"]
    from prloom.engine.plan import admission  # noqa: PLC0415 - of this helper alone

    admission.take_in(runtime, lambda event: None)
    return runtime.event_store.state.open[event.id]


# ---- what a run's token opens


async def test_a_token_is_of_one_run_and_is_over_with_it(bench: ToolBench):
    async with bench.open() as parts:
        first, second = bench.prepare(parts), bench.prepare(parts, run="run-2")
        access = parts.services.access()
        async with bench.running(parts, first), bench.running(parts, second):
            await refused(parts, {"run": "run-1", "token": access.token}, "the token is not that of run run-1")
            await refused(parts, {"run": "run-2", "token": token(first)}, "the token is not that of run run-2")
            await refused(parts, {"token": token(first)}, "the token is not valid, or none was given")
            await refused(parts, {"operator": "yes", "token": token(first)}, "the token is not valid")
        await refused(parts, {"run": "run-1", "token": token(first)}, "run run-1 has ended")


async def test_a_stolen_token_is_of_no_use_to_a_process_of_another_run(bench: ToolBench):
    bench.belongs = lambda session, peer: False
    async with bench.run() as (parts, folder):
        await refused(parts, {"run": "run-1", "token": token(folder)}, "does not belong to run run-1")


async def test_the_file_with_the_token_is_for_its_owner_only(bench: ToolBench):
    async with bench.open() as parts:
        folder = bench.prepare(parts)

        assert (folder / "mcp.json").stat().st_mode & 0o777 == 0o600
        assert parts.socket.path.stat().st_mode & 0o777 == 0o600
        assert parts.socket.path.parent.stat().st_mode & 0o777 == 0o700


async def test_the_token_of_a_run_is_hidden_in_the_activity_while_it_goes_on(bench: ToolBench):
    async with bench.run() as (_, folder):
        assert bench.notes.hidden == {"the token of run run-1": token(folder)}

    assert bench.notes.hidden == {}


async def test_a_run_whose_call_waits_for_a_person_does_not_count_as_silent(careful: ToolBench):
    async with careful.run() as (parts, folder):
        before = tool_wait.seconds_since(folder)
        calling = asyncio.create_task(call(parts, folder, "deploy"))
        request = await waiting(parts)
        meanwhile = tool_wait.seconds_since(folder)
        parts.people.confirmations.answer(request, PermissionAnswer(choice="deny", by="operator"))
        await calling

        assert (before, meanwhile) == (math.inf, 0)
        assert 0 < tool_wait.seconds_since(folder) < 60


async def test_two_calls_at_once_cannot_have_one_name(careful: ToolBench):
    async with careful.run() as (parts, _):
        session = parts.services.sessions.running("run-1")
        assert session is not None
        run = parts.services.open_client(session)
        asked = {"key": "k", "name": "deploy", "arguments": {}}
        calling = asyncio.create_task(run.answer("callTool", asked))
        await waiting(parts)
        with pytest.raises(RpcError, match="a call 'k' is already in progress"):
            await asyncio.wait_for(run.answer("callTool", asked), 60)
        run.hear("cancelCall", {"key": "k"})
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert parts.people.confirmations.requests == ()


async def test_a_run_sees_its_own_plan_only(bench: ToolBench):
    other = bench.stage.adopt("pr-8")
    (other / "plan.md").write_text("# Another\n")
    async with bench.run() as (parts, folder):
        plan = await call(parts, folder, "prloom_plan")
        tried = await call(parts, folder, "prloom_plan", plan="pr-8")

    assert plan["data"]["id"] == "pr-7"
    assert tried["error_type"] == "validation_error"


def token(folder: Path) -> str:
    from prloom.agents import mcp_server  # noqa: PLC0415 - of this helper alone

    found = mcp_server.access((folder / "mcp.json").read_bytes())
    assert found is not None
    return found.token


async def refused(parts: ToolParts, hello: dict[str, object], why: str) -> None:
    with pytest.raises(PrloomError, match=why):
        await dispatcher_client.request_once(lambda: str(parts.socket.path), hello, "listTools", None)
