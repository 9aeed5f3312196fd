"""Tell whether an object is a bridge, before anything is asked of it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from prloom.core.delivery.outbox import PLAN_TARGET
from prloom.errors import ExtensionError


def targets(bridge: object) -> tuple[str, ...]:
    """Return the targets that the bridge claims; raises ExtensionError for what does not fit the protocol."""
    if inspect.iscoroutine(bridge):
        bridge.close()  # so that Python does not warn of a coroutine that was never awaited
        raise ExtensionError("create must be a plain function, not an async one")
    if inspect.isclass(bridge):
        raise ExtensionError(f"create returned the class {bridge.__name__}; return an instance of it")
    name = getattr(bridge, "name", None)
    if not isinstance(name, str) or not name:
        raise ExtensionError(f"`name` is {name!r}; give the bridge ({type(bridge).__name__}) a name")
    for method in ("events", "actions"):
        _check_method(bridge, method)
    return _claimed(getattr(bridge, "targets", None))


def _check_method(bridge: object, name: str) -> None:
    method = getattr(bridge, name, None)
    if method is None:
        raise ExtensionError(f"it has no `{name}`; add `async def {name}`")
    shapes = (method, inspect.unwrap(method), getattr(method, "__call__", None))  # noqa: B004 - an object may stand there
    if not any(inspect.iscoroutinefunction(shape) for shape in shapes):
        raise ExtensionError(f"`{name}` is not an async function; write `async def {name}`")
    try:
        inspect.signature(method).bind(object(), object())
    except TypeError as error:
        second = "action"
        if name == "events":
            second = "state"
        raise ExtensionError(f"`{name}` must take (ctx, {second})") from error


def _claimed(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ExtensionError(f"`targets` is {names!r}; give a tuple of names, empty if it takes no actions")
    for target in names:
        if not isinstance(target, str) or not target:
            raise ExtensionError(f"`targets` contains {target!r}; use names")
        if target == PLAN_TARGET:
            raise ExtensionError(f"the target {target!r} is reserved for prloom; claim another name")
    return tuple(dict.fromkeys(names))
