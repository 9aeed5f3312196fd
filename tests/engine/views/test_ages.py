from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, inspect

from prloom.engine.views import ages, status
from prloom.engine.views.status_schema import BlockStatus, StatusDocument
from prloom.model.record import Timestamp, to_builtins

_LEAVES = inspect.BoolType | inspect.StrType | inspect.FloatType | inspect.LiteralType | inspect.CustomType


def complete(kind: inspect.Type, number: int) -> Any:
    """Return a value that has one of everything that a value of this kind may have; each whole number is this one."""
    match kind:
        case inspect.StructType(cls=record, fields=fields):
            return record(**{each.name: complete(each.type, number) for each in fields})
        case inspect.VarTupleType(item_type=item):
            return (complete(item, number),)
        case inspect.DictType(value_type=value):
            return {"key": complete(value, number)}
        case inspect.UnionType(types=types):
            (known,) = (each for each in types if not isinstance(each, inspect.NoneType))
            return complete(known, number)
        case inspect.IntType():
            return number
    assert isinstance(kind, _LEAVES | inspect.AnyType), f"say here how to make one of {kind}"
    return "x"


def ages_in(document: Any, where: str = "") -> Iterator[tuple[str, int]]:
    """Yield each age in a document as JSON, with its place."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from ages_in(value, f"{where}.{key}")
    elif isinstance(document, (list, tuple)):
        for each in document:
            yield from ages_in(each, where)
    elif where.lower().endswith("agems"):
        yield where, document


def test_a_status_with_one_of_everything_that_it_may_have_is_left_without_any_age() -> None:
    shown = complete(inspect.type_info(StatusDocument), 7)

    known, left = (dict(ages_in(to_builtins(each))) for each in (shown, status.timeless(shown)))

    assert {".oldestDeferredAgeMs", ".plans.block.ageMs", ".plans.events.parked.ageMs"} <= known.keys()
    assert (set(known.values()), left) == ({7}, dict.fromkeys(known, 0))


def test_nothing_but_its_age_is_taken_from_a_record() -> None:
    block = BlockStatus(reason="it failed", since=Timestamp(2026, 1, 1), todo="1", way_on="prloom retry", age_ms=7)

    assert ages.without(block) == BlockStatus(
        reason="it failed", since=Timestamp(2026, 1, 1), todo="1", way_on="prloom retry", age_ms=0
    )


def test_an_age_that_is_not_known_stays_so() -> None:
    block = BlockStatus(reason="it failed", since=Timestamp(2026, 1, 1), todo=None, way_on="prloom retry")

    assert ages.without(block).age_ms is UNSET
