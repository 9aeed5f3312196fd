"""Run one call of a hook in this process: pass it its values, and collect all that it requests as one value."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from prloom.api import context, store
from prloom.api.context import HookContext, Services
from prloom.api.intercept import InterceptContext, ToolContext
from prloom.api.plan_context import PlanContext
from prloom.api.plugin import Handler, Registrations
from prloom.api.triage import TriageContext
from prloom.core.plugins import tool_rules
from prloom.errors import ExtensionError
from prloom.extensions import loading
from prloom.model import record
from prloom.model.event import Event
from prloom.model.hook import HookCall, Outcome, Writes
from prloom.model.hook_points import BEFORE_TRIAGE, HOOKS, TRANSFORM
from prloom.model.tool import CHECK, TOOL, Session

COMMAND = "command:/"
"""What the name of the hook point of a slash command starts with."""


def run_hook(key: str, registrations: Registrations, call: HookCall, services: Services) -> Outcome:
    """Run the plugin's functions for the call's hook point, and return all that they requested.

    Plan hooks get (plan, ctx), one after the other; event hooks and commands get (event, ctx) for each event. Async
    functions run in a loop of their own, so the thread must not have one running. Raises ExtensionError, whose text
    names the plugin and the hook, for anything that goes wrong; nothing of the call takes effect then.
    """
    handlers = _handlers(key, registrations, call.hook)
    try:
        outcome = _run(key, handlers, call, services)
    except BaseException as error:
        if loading.is_interrupt(error):
            raise
        raise ExtensionError(_error_message(key, call.hook, error)) from error
    return _validated(key, call.hook, outcome)


def _handlers(key: str, registrations: Registrations, hook: str) -> Sequence[Handler]:
    found: Sequence[Handler]
    if hook.startswith(COMMAND):
        command = registrations.command(hook.removeprefix(COMMAND))
        found = [command.handler for command in (command,) if command is not None]
    elif hook.startswith(TOOL):
        found = [tool.handler for tool in registrations.tools if tool.name == hook.removeprefix(TOOL)]
    elif hook.startswith(CHECK):
        tools = [tool for tool in registrations.tools if tool.name == hook.removeprefix(CHECK)]
        found = [tool.check or _always for tool in tools]
    else:
        found = registrations.for_hook(hook)
    if not found:
        raise ExtensionError(f"plugin {key}: nothing is registered for {hook}")
    return found


def _run(key: str, handlers: Sequence[Handler], call: HookCall, services: Services) -> Outcome:
    if call.hook.startswith(COMMAND):
        return _each_event(handlers, call, lambda alone: TriageContext(key, alone, services))
    if HOOKS.get(call.hook) == "event":
        return _each_event(handlers, call, lambda alone: HookContext(key, alone, services))
    if call.hook.startswith((TOOL, CHECK)):
        return _answer(handlers[0], ToolContext(key, call, services))
    if HOOKS.get(call.hook) == "guard":
        return _intercepted(key, handlers, call, services)
    ctx = _plan_context(key, call, services)
    if call.session is not None:
        return _observed(handlers, call.session, ctx)
    plan = call.plan
    with _no_run_left(ctx):
        for handler in handlers:
            returned = _finished(handler(plan, ctx))
            if returned is not None and _returns_plan(call.hook):
                plan = _text(key, call.hook, returned, plan)
        return ctx.outcome(plan)


def _always() -> bool:
    """Say that a tool without a check can be used."""
    return True


def _answer(handler: Handler, ctx: ToolContext) -> Outcome:
    """Run the handler or the check of a tool, and return what it answers."""
    arguments: dict[str, Any] = {}
    if ctx.hook_point.startswith(TOOL):
        arguments = dict(ctx.call.arguments)
        if "ctx" in inspect.signature(handler).parameters:
            arguments["ctx"] = ctx
    with _no_run_left(ctx):
        returned = _finished(handler(**arguments))
        if ctx.hook_point.startswith(CHECK):
            returned = bool(returned)
        return replace(ctx.outcome(), result=store.json_copy(returned))


def _observed(handlers: Sequence[Handler], session: Session, ctx: HookContext) -> Outcome:
    """Show a run to the functions of sessionStart or sessionEnd."""
    with _no_run_left(ctx):
        for handler in handlers:
            _finished(handler(session, ctx))
        return ctx.outcome()


def _intercepted(key: str, handlers: Sequence[Handler], call: HookCall, services: Services) -> Outcome:
    """Ask the plugin's functions for a guard's hook point one after the other, each about what the last has made of it.

    A function that refuses is the last one that is asked.
    """
    ctx = InterceptContext(key, call, services)
    plan, text = call.plan, None
    with _no_run_left(ctx):
        for handler in handlers:
            about = _subject(call, ctx, plan, text)
            returned = _finished(handler(about, ctx))
            if ctx.outcome().block is not None:
                break
            if call.upsert is not None and returned is not None:
                plan = _text(key, call.hook, returned, plan)
            elif call.hook == TRANSFORM and isinstance(returned, str):
                text = returned
        return replace(ctx.outcome(plan), result=text)


def _subject(call: HookCall, ctx: InterceptContext, plan: str, text: str | None) -> object:
    """Return what a guard is asked about: that which its call carries."""
    if call.action is not None:
        return ctx.changed_action(call.action)
    if call.upsert is not None:
        return plan
    tool = ctx.changed(call.tool)
    if tool is None:  # a function that is asked about nothing would let everything pass
        raise ExtensionError(f"prloom called {call.hook} without saying what it is about; this is a bug in prloom")
    if tool.result is not None and text is not None:
        return replace(tool, result=tool_rules.transformed(tool.result, text))
    return tool


def _plan_context(key: str, call: HookCall, services: Services) -> HookContext:
    if call.hook == BEFORE_TRIAGE:
        return TriageContext(key, call, services)
    if HOOKS.get(call.hook) == "plan":
        return PlanContext(key, call, services)
    return HookContext(key, call, services)


def _returns_plan(hook: str) -> bool:
    return HOOKS.get(hook) == "plan"


def _text(key: str, hook: str, returned: object, before: str) -> str:
    if not isinstance(returned, str):
        kind = type(returned).__name__
        raise ExtensionError(f"plugin {key}: {hook} returned {kind}; return the plan's text, or None to keep it")
    if not returned.strip() and before.strip():
        raise ExtensionError(f"plugin {key}: {hook} returned an empty text; return the plan's text, or None to keep it")
    return returned


def _each_event(handlers: Sequence[Handler], call: HookCall, make: Callable[[HookCall], HookContext]) -> Outcome:
    """Show the events one by one, each with what the plugin stored at those before it; all of it is one outcome.

    An event has a context of its own, so that what is said about it is filed under it and under no other.
    """
    whole = Outcome()
    for event in call.events:
        ctx = make(replace(call, events=(event,)))
        with _no_run_left(ctx):
            for handler in handlers:
                returned = _finished(handler(event, ctx))
                if call.hook.startswith(COMMAND):
                    _reply(ctx, event, returned)
            outcome = ctx.outcome()
        whole = _joined(whole, outcome)
        call = _after(call, outcome.writes)
    return whole


def _reply(ctx: HookContext, event: Event, returned: object) -> None:
    """Post the text that a command's function returned."""
    if isinstance(returned, str):
        if returned.strip():
            ctx.emit_comment(event.reply_to, returned)
    elif returned is not None:
        ctx.log.warning("%s returned %s, which is not posted; return a text", ctx.hook_point, type(returned).__name__)


@contextmanager
def _no_run_left(ctx: HookContext) -> Iterator[None]:
    """Close the agent runs that a function did not await because it raised."""
    try:
        yield
    finally:
        context.forget_runs(ctx)


def _finished(returned: Any) -> Any:  # noqa: ANN401 - a plugin may return anything
    """Return what a function returned, once it is there: awaited, where it has to be."""
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise TypeError("the function is a generator, so its code did not run; use return instead of yield")
    if not inspect.isawaitable(returned):
        return returned
    import asyncio  # noqa: PLC0415 - 50 ms of a host's start that sync plugins need not pay

    return asyncio.run(_awaited(returned))


async def _awaited(returned: Awaitable[Any]) -> Any:  # noqa: ANN401 - likewise
    return await returned


def _after(call: HookCall, writes: Iterable[Writes]) -> HookCall:
    """Return the call with its stores as they are after these writes."""
    stores = {"plan": dict(call.state), "global": dict(call.global_state)}
    for written in writes:
        store = stores[written.scope]
        store.update(written.values)
        for key in written.deleted:
            store.pop(key, None)
    return replace(call, state=stores["plan"], global_state=stores["global"])


def _joined(first: Outcome, second: Outcome) -> Outcome:
    """Return both outcomes as one."""
    writes = {written.scope: written for written in first.writes}
    for later in second.writes:
        earlier = writes.get(later.scope)
        if earlier is None:
            writes[later.scope] = later
        else:
            writes[later.scope] = _joined_writes(earlier, later)
    return Outcome(
        marks=first.marks + second.marks,
        actions=first.actions + second.actions,
        writes=tuple(writes.values()),
        block=first.block or second.block,
        wakes=first.wakes + second.wakes,
    )


def _joined_writes(first: Writes, second: Writes) -> Writes:
    own = {*first.values, *first.deleted}  # reading back one's own writes can lose no update
    values = {key: value for key, value in first.values.items() if key not in second.deleted} | dict(second.values)
    deleted = [key for key in (*first.deleted, *second.deleted) if key not in values]
    return Writes(
        scope=first.scope,
        read=tuple(dict.fromkeys((*first.read, *(key for key in second.read if key not in own)))),
        values=values,
        deleted=tuple(dict.fromkeys(deleted)),
    )


def _validated(key: str, hook: str, outcome: Outcome) -> Outcome:
    """Return the outcome as it arrives when it is sent; raises for a value built by hand that has wrong types."""
    try:
        return record.decode(Outcome, msgspec.json.encode(outcome))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise ExtensionError(f"plugin {key}: {hook}: its result is not valid: {error}") from error


def _error_message(key: str, hook: str, error: BaseException) -> str:
    if isinstance(error, ExtensionError) and str(error).startswith(f"plugin {key}: "):
        return str(error)  # the context's own words, which name the plugin and the call
    return f"plugin {key}: {hook} raised {loading.describe_error(error)}"
