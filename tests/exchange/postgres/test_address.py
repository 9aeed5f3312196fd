from __future__ import annotations

import pytest

from prloom.exchange.errors import StoreError
from prloom.exchange.postgres import address
from prloom.exchange.postgres.store import PostgresStore


def test_a_url_says_where_and_shows_neither_user_nor_password():
    where = address.read_url("postgresql://me:s3cret@db.example:6000/work?sslmode=require")

    assert where.parameters["password"] == "s3cret"
    assert where.parameters["sslmode"] == "require"
    assert (where.shown, where.schema) == ("postgresql://db.example:6000/work", "prloom_exchange")
    assert "s3cret" not in repr(where)


def test_the_schema_is_a_parameter_of_the_url():
    where = address.read_url("postgres://db.example/work?schema=team_a&sslmode=require")

    assert (where.schema, where.shown) == ("team_a", "postgresql://db.example/work?schema=team_a")
    assert "schema" not in where.parameters


def test_each_schema_has_its_own_locks_and_channel():
    one, other = (address.read_url(f"postgresql://db.example/work?schema={name}") for name in ("a", "b"))

    assert one.key("order") != one.key("schema")
    assert one.key("order") != other.key("order")
    assert one.channel != other.channel


@pytest.mark.parametrize("name", ["", "Team", "a b", "x" * 64, 'a"b', "pg_catalog", "1a", "a,public"])
def test_what_is_no_schemas_name_is_refused(name: str):
    with pytest.raises(StoreError, match="is not a valid schema name; use lower-case letters, digits and '_'"):
        address.read_url(f"postgresql://db.example/work?schema={name}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:se@cret@db.example/work",
        "postgresql://me:se/cret@db.example/work",
        "postgresql://me:se?cret@db.example/work",
        "postgresql://me:12/cret@db.example/work",
        "postgresql://me:cret",
        "postgresql://me:cret/work",
        "postgresql://me:%zzcret@db.example/work",
        "postgresql://me@db.example/work?cret",
        "postgresql://me@db.example/work?cret=1",
    ],
)
def test_a_url_that_is_read_wrong_is_not_repeated_because_it_may_contain_a_password(url: str):
    with pytest.raises(StoreError, match="the PostgreSQL URL ") as caught:
        address.read_url(url)

    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_server_is_reported_in_one_line_without_the_password():
    with pytest.raises(StoreError, match=r"^postgresql:///nowhere/work: connection ") as caught:
        PostgresStore("postgresql://me:s3cret@/work?host=/nowhere")

    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_in_what_a_library_says_is_hidden():
    where = address.read_url("postgresql://me:s3cret@db.example/work")

    assert where.without_password('FATAL: no pg_hba.conf entry for "s3cret"\nmore') == (
        'FATAL: no pg_hba.conf entry for "***"'
    )
