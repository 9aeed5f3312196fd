from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from faulty_disks import PatientDisk

from prloom.errors import StorageError, UnsafePathError
from prloom.storage import json_codec
from prloom.storage.document import CHECK, Document, LoadedDocument
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Barrier

NAME = "dispatcher.json"


def put(folder: SafeDir, content: bytes) -> None:
    (Path(folder.path) / NAME).write_bytes(content)


def test_what_is_saved_is_loaded(folder: SafeDir) -> None:
    document = Document(folder, NAME)
    document.save({"cursor": [1, 20, 0], "text": "ä ☃ \u0000"})

    assert document.load() == LoadedDocument({"cursor": [1, 20, 0], "text": "ä ☃ \u0000"})
    assert document.peek() == document.load()


def test_a_document_is_readable_by_people(folder: SafeDir) -> None:
    Document(folder, NAME).save({"a": 1, "b": [2]})

    assert folder.read_bytes(NAME) == b'{\n  "a": 1,\n  "b": [\n    2\n  ],\n  "$check": "66ec6d38"\n}\n'


def test_a_missing_document_is_none_and_no_error(folder: SafeDir) -> None:
    assert Document(folder, NAME).load() == LoadedDocument(None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "truncated"),
        (b'{"a":', "truncated"),
        (b"[1]", "not an object"),
        (b'"text"', "not an object"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b"\0" * 100, "malformed"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{} {}", "trailing characters"),
    ],
)
def test_a_document_that_does_not_parse_is_keep_and_reported(folder: SafeDir, content: bytes, reason: str) -> None:
    put(folder, content)

    found = Document(folder, NAME).load()

    assert found.value is None
    assert reason in (found.reason or "")
    assert found.quarantined is not None
    assert found.quarantined.startswith(f"{folder.path}/{NAME}.corrupt-")
    assert Path(found.quarantined).read_bytes() == content
    assert Document(folder, NAME).load() == LoadedDocument(None)


def test_peeking_changes_nothing(folder: SafeDir) -> None:
    put(folder, b"{")

    found = Document(folder, NAME).peek()

    assert (found.value, found.quarantined) == (None, None)
    assert found.reason is not None
    assert folder.names() == (NAME,)


def test_a_document_over_its_limit_is_not_loaded_but_keep(folder: SafeDir) -> None:
    put(folder, b'{"a": "' + b"x" * 100 + b'"}')

    found = Document(folder, NAME, limit=50).load()

    assert found.reason == "it has 109 bytes, more than 50"
    assert found.quarantined is not None


def test_a_document_that_would_be_over_its_limit_is_not_saved(folder: SafeDir) -> None:
    document = Document(folder, NAME, limit=50)
    document.save({"a": 1})

    with pytest.raises(StorageError, match=r"dispatcher.json would have \d+ bytes, more than 50; store less in it"):
        document.save({"a": "x" * 100})

    assert document.load() == LoadedDocument({"a": 1})


def test_a_document_is_only_a_regular_file(folder: SafeDir, intruder: Callable[[Path], str]) -> None:
    kind = intruder(Path(folder.path) / NAME)
    document = Document(folder, NAME)

    for use in (document.load, document.peek, lambda: document.save({}), lambda: document.update(lambda _: {})):
        with pytest.raises(UnsafePathError, match=f"{NAME} is {kind}"):
            use()


def test_an_update_sees_what_was_there_and_returns_what_is_there_now(folder: SafeDir) -> None:
    document = Document(folder, NAME)
    document.save({"n": 1})

    assert document.update(lambda found: {"n": (found.value or {})["n"] + 1}) == {"n": 2}
    assert document.load() == LoadedDocument({"n": 2})


def test_an_update_is_told_that_the_document_was_corrupt_and_does_not_take_it_for_empty(folder: SafeDir) -> None:
    put(folder, b"{")
    told: list[LoadedDocument] = []

    def begin_anew(found: LoadedDocument) -> dict[str, int]:
        told.append(found)
        return {"n": 0}

    Document(folder, NAME).update(begin_anew)

    assert told[0].quarantined is not None
    assert Path(told[0].quarantined).read_bytes() == b"{"


def test_an_update_that_fails_changes_nothing(folder: SafeDir) -> None:
    document = Document(folder, NAME)
    document.save({"n": 1})

    def fail(_: LoadedDocument) -> dict[str, int]:
        raise KeyError("n")

    with pytest.raises(KeyError):
        document.update(fail)

    assert document.load() == LoadedDocument({"n": 1})
    document.save({"n": 2})


def _count(path: str, times: int, together: Barrier) -> None:
    with SafeDir.make(path, disk=PatientDisk()) as folder:
        together.wait(120)
        for _ in range(times):
            Document(folder, NAME).update(lambda found: {"n": (found.value or {"n": 0})["n"] + 1})


def test_updates_of_several_processes_are_never_lost(folder: SafeDir) -> None:
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(2)
    writers = [spawn.Process(target=_count, args=(folder.path, 40, together)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)

    assert Document(folder, NAME).load() == LoadedDocument({"n": 80})


def test_half_an_emoji_does_not_stop_a_save(folder: SafeDir) -> None:
    document = Document(folder, NAME)
    document.save({"cut\ud83d": ["\udc00", {"whole": "\U0001f600"}]})

    assert document.load() == LoadedDocument({"cut\ufffd": ["\ufffd", {"whole": "\U0001f600"}]})


def test_half_an_emoji_of_another_program_is_read_as_a_replacement(folder: SafeDir) -> None:
    put(folder, rb'{"a": "cut \ud83d", "b": "\ud83d\ude00", "c": "\\ud83d"}')

    assert Document(folder, NAME).load() == LoadedDocument({"a": "cut \ufffd", "b": "\U0001f600", "c": "\\ud83d"})


@pytest.mark.parametrize("content", [rb'{"a": NaN, "b": "\ud83d"}', rb'{"a": "\ud83d"', rb'{"a": "\ud83d"} x'])
def test_what_is_no_json_stays_unreadable_whatever_else_is_in_it(content: bytes) -> None:
    assert isinstance(json_codec.decode(content), json_codec.Unreadable)


def test_numbers_beyond_64_bits_are_kept(folder: SafeDir) -> None:
    document = Document(folder, NAME)
    document.save({"n": 2**70})

    assert document.load() == LoadedDocument({"n": 2**70})


def test_what_is_not_json_is_an_error_of_the_caller(folder: SafeDir) -> None:
    with pytest.raises(TypeError):
        Document(folder, NAME).save({"a": object()})

    assert folder.names() == ()


def test_a_saved_document_is_json_to_everybody(folder: SafeDir) -> None:
    Document(folder, NAME).save({"a": "</script>\u2028\x7f\x1b["})

    read = msgspec.json.decode(folder.read_bytes(NAME) or b"")
    assert {**read, CHECK: 0} == {"a": "</script>\u2028\x7f\x1b[", CHECK: 0}


@pytest.mark.parametrize(
    "value", [{}, {"a": 1}, {"cursor": [1, 20, 0], "text": "ä ☃ \u0000", "deep": {"b": [None, 1.5]}}]
)
def test_no_flipped_byte_goes_unnoticed_and_no_cut(folder: SafeDir, value: dict[str, object]) -> None:
    document = Document(folder, NAME)
    document.save(value)
    sound = folder.read_bytes(NAME) or b""
    body = sound.rindex(b'  "$check"')

    for at in range(len(sound)):
        for flip in (1, 2, 4, 8, 16, 32, 64, 128):
            put(folder, sound[:at] + bytes([sound[at] ^ flip]) + sound[at + 1 :])
            found = document.peek()
            assert found.value is None if at < body else found.value in (None, value, {**value, **(found.value or {})})
        put(folder, sound[:at])
        assert document.peek().value is None or sound[:at] == sound.rstrip()


def test_what_another_program_wrote_in_its_own_form_needs_no_check(folder: SafeDir) -> None:
    Document(folder, NAME).save({"a": 1, "b": 2})
    written = json.loads(folder.read_bytes(NAME) or b"")

    for form in (json.dumps({**written, "a": 3}), json.dumps({**written, "a": 3}, indent=2), '{"a": 3, "b": 2}\n'):
        put(folder, form.encode())
        assert Document(folder, NAME).load() == LoadedDocument({"a": 3, "b": 2})


def test_a_newer_schema_is_refused_and_left_as_it_is(folder: SafeDir) -> None:
    content = b'{"schemaVersion": 2, "anything": {}}'
    put(folder, content)

    for use in (
        Document(folder, NAME).peek,
        Document(folder, NAME).load,
        lambda: Document(folder, NAME).update(lambda _: {}),
    ):
        with pytest.raises(
            StorageError, match=r"dispatcher.json has the schemaVersion 2, and this prloom knows 1; the file was"
        ):
            use()
    assert folder.read_bytes(NAME) == content
    assert folder.names() == (NAME,)
