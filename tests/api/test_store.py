from __future__ import annotations

import enum
import math
from collections import OrderedDict, defaultdict
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.api.store import Store
from prloom.errors import ExtensionError
from prloom.model.decision import Scope
from prloom.model.event import Event
from prloom.model.hook import Writes

MIB = 1024 * 1024


def a_store(values: dict[str, Any] | None = None, *, limit: int = MIB, scope: Scope = "plan") -> Store:
    return Store("memory", scope, values or {}, limit=limit)


@pytest.fixture
def store() -> Store:
    return a_store({"n": 1})


def refused(store: Store, key: Any, value: Any) -> str:
    with pytest.raises(ExtensionError) as caught:
        store.set(key, value)
    return str(caught.value)


# ---- reading


def test_a_value_is_read_and_the_default_stands_in_for_one_that_is_missing(store: Store) -> None:
    assert (store.get("n"), store.get("m"), store.get("m", 7)) == (1, None, 7)


def test_a_value_that_was_read_is_the_readers_own() -> None:
    store = a_store({"notes": [{"a": 1}]})

    store.get("notes")[0]["a"] = 2

    assert store.get("notes") == [{"a": 1}]
    assert store.writes().values == {}


def test_a_value_that_was_set_is_the_stores_own() -> None:
    store, notes = a_store(), [1]
    store.set("notes", notes)

    notes.append(2)

    assert store.get("notes") == [1]


# ---- what is recorded


def test_a_store_that_nobody_looked_at_has_nothing_to_say() -> None:
    assert not a_store({"n": 1}).touched


def test_reads_and_writes_are_recorded_apart() -> None:
    store = a_store({"n": 1, "gone": 2})
    store.get("n")
    store.get("missing")
    store.set("new", 3)
    store.set("gone", None)

    assert store.touched
    assert store.writes() == Writes(scope="plan", read=("n", "missing"), values={"new": 3}, deleted=("gone",))


def test_an_update_rests_on_the_value_that_it_read(store: Store) -> None:
    assert store.update("n", lambda n: n + 1) == 2
    assert store.writes() == Writes(scope="plan", read=("n",), values={"n": 2})


def test_an_update_of_a_missing_value_is_given_none() -> None:
    assert a_store().update("n", lambda n: [n]) == [None]


def test_what_rests_on_the_hooks_own_write_rests_on_nobody_elses(store: Store) -> None:
    store.set("n", 5)
    store.update("n", lambda n: n + 1)

    assert store.writes() == Writes(scope="plan", read=(), values={"n": 6})


@pytest.mark.parametrize("again", [None, 5])
def test_the_last_write_of_a_key_counts(again: int | None, store: Store) -> None:
    store.set("n", None if again else 5)
    store.set("n", again)

    written = store.writes()
    assert (dict(written.values), written.deleted) == (({"n": 5}, ()) if again else ({}, ("n",)))


def test_an_update_that_raises_writes_nothing(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.update("n", lambda n: n / 0)

    assert store.writes().values == {}


def test_an_update_to_none_removes_the_value(store: Store) -> None:
    store.update("n", lambda _: None)

    assert store.writes().deleted == ("n",)


# ---- what is refused


class Colour(enum.Enum):
    RED = object()


class Text(str):
    __slots__ = ()


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "nan cannot be represented as JSON"),
        ([math.inf], "inf cannot be represented as JSON"),
        ({"a": -math.inf}, "-inf cannot be represented as JSON"),
        ({1, 2}, "set cannot be represented as JSON"),
        (b"bytes", "bytes cannot be represented as JSON"),
        (datetime(2026, 11, 21, tzinfo=UTC), "datetime cannot be represented as JSON"),
        (Event(id="e1", source="s", type="t"), "Event cannot be represented as JSON"),
        (object, "type cannot be represented as JSON"),
        (lambda: 1, "function cannot be represented as JSON"),
        (Colour.RED, "Colour cannot be represented as JSON"),
        ({1: 2}, "the keys of an object must be texts"),
        ([{"a": [{None: 1}]}], "the keys of an object must be texts"),
        (Text("x"), "Encoding objects of type Text is unsupported"),
        ("\ud83d", "surrogates not allowed"),
        ({"\ud83d": 1}, "surrogates not allowed"),
        (CYCLE, "nested too deeply"),
    ],
)
def test_a_value_that_is_not_json_is_refused_and_named(value: Any, why: str, store: Store) -> None:
    problem = refused(store, "n", value)

    assert problem.startswith("plugin memory: set_state('n'): the value is not JSON (")
    assert why in problem
    assert (store.get("n"), store.writes().values) == (1, {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON.filter(lambda value: value is not None))
def test_every_json_value_is_kept_as_it_is(value: Any) -> None:
    store = a_store()
    store.set("n", value)

    kept = store.get("n")
    assert kept == value
    assert type(kept) is type(value)
    assert msgspec.json.decode(msgspec.json.encode(store.writes().values)) == {"n": value}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=(1,)), {"a": [1]}),
        (enum.StrEnum("Kind", ["A"])["A"], "a"),
        (2**70, 2**70),
        (-0.5, -0.5),
    ],
)
def test_what_has_a_json_form_takes_it(value: Any, kept: Any) -> None:
    store = a_store()
    store.set("n", value)

    assert store.get("n") == kept
    assert type(store.get("n")) is type(kept)


@pytest.mark.parametrize("key", ["", "$prloom", "$", None, 7, ("a",), b"a", "\ud83d"])
def test_a_key_that_is_none_is_refused_in_every_call(key: Any) -> None:
    store = a_store()

    for name, call in (
        ("get", lambda: store.get(key)),
        ("set", lambda: store.set(key, 1)),
        ("update", lambda: store.update(key, lambda _: 1)),
    ):
        with pytest.raises(ExtensionError, match=f"^plugin memory: ({name}|get)_state\\(.*\\): a key is a text"):
            call()
    assert not store.touched


def test_an_error_about_the_shared_store_names_its_own_call() -> None:
    problem = refused(a_store(scope="global"), "n", math.nan)

    assert problem.startswith("plugin memory: set_global_state('n'): ")


# ---- the limit


def test_a_value_that_makes_the_store_too_large_is_refused_with_both_sizes() -> None:
    assert refused(a_store(limit=20), "key", "x" * 20) == (
        "plugin memory: set_state('key'): the store would hold 30 bytes; the limit is 20; store less in it"
    )


def test_a_store_may_be_filled_to_its_limit() -> None:
    store = a_store(limit=30)
    store.set("key", "x" * 20)

    assert refused(store, "k", 1)


def test_a_hook_that_was_refused_still_sees_the_older_value_and_has_written_nothing() -> None:
    store = a_store({"notes": ["a"]}, limit=30)

    assert refused(store, "notes", ["x" * 50])

    assert store.get("notes") == ["a"]
    assert store.writes() == Writes(scope="plan", read=("notes",))


def test_a_hook_that_was_refused_keeps_what_it_wrote_before() -> None:
    store = a_store(limit=30)
    store.set("notes", ["a"])

    assert refused(store, "notes", ["x" * 50])

    assert store.writes().values == {"notes": ["a"]}


def test_a_store_that_is_over_a_lowered_limit_may_shrink() -> None:
    store = a_store({"notes": "x" * 100, "more": "y"}, limit=30)
    store.set("notes", "x" * 99)
    store.set("notes", "z" * 99)
    store.set("more", None)

    assert refused(store, "notes", "x" * 120)
    assert store.writes().values == {"notes": "z" * 99}


@given(
    writes=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.none() | st.text(max_size=30)), max_size=12),
    limit=st.integers(2, 60),
)
def test_no_sequence_of_writes_exceeds_the_limit(writes: list[tuple[str, str | None]], limit: int) -> None:
    store, kept = a_store(limit=limit), dict[str, str]()
    for key, value in writes:
        wanted = {name: text for name, text in {**kept, key: value}.items() if text is not None}
        if len(msgspec.json.encode(wanted)) <= limit:
            store.set(key, value)
            kept = wanted
        else:
            assert refused(store, key, value)

    assert store.writes().values == kept
