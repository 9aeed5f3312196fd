"""List every configuration key with its default and its meaning: for suggestions, the example and the documents."""

import inspect
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import EllipsisType
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from prloom.config import durations
from prloom.config.models import Config
from prloom.config.section import ConfigSection

# Stands in a path for a name that the operator chooses.
ANY = "<name>"


class Key(NamedTuple):
    """One key: its path, its default as TOML has it (`...` where it has none), an example, and its meaning."""

    path: tuple[str, ...]
    default: object
    example: object
    meaning: str


def all_keys() -> tuple[Key, ...]:
    """Return every key, in the order of the sections; chosen names are `<name>`."""
    return tuple(_keys(Config, ()))


def sections() -> Mapping[tuple[str, ...], str]:
    """Return each section's meaning by its path, in order."""
    return dict(_sections(Config, ()))


def is_list(path: tuple[str, ...]) -> bool:
    """Whether a section is a list of tables, each of which is spelled `[[…]]`."""
    field = Config.model_fields.get(".".join(path))
    return field is not None and get_origin(field.annotation) is tuple and _inner(field) is not None


def at(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """Return a path as the reference has it: chosen names become `<name>`, places in lists are dropped."""
    known = {key.path[: depth + 1] for key in all_keys() for depth in range(len(key.path))}
    general: tuple[str, ...] = ()
    for part in path:
        if isinstance(part, str):
            if (*general, part) in known:
                general = (*general, part)
            else:
                general = (*general, ANY)
    return general


def children(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that may stand in a section, without those that are free to choose."""
    depth = len(path)
    names = (key.path[depth] for key in all_keys() if key.path[:depth] == path and len(key.path) > depth)
    return tuple(dict.fromkeys(name for name in names if name != ANY))


def as_toml(value: object) -> object:
    """Return a value of the models as TOML spells it."""
    match value:
        case timedelta():
            return durations.spell(value)
        case Path():
            return str(value)
        case tuple():
            return [as_toml(item) for item in value]
        case _:
            return value


def _keys(section: type[BaseModel], path: tuple[str, ...]) -> Iterator[Key]:
    for name, field in section.model_fields.items():
        inner = _inner(field)
        if inner is None:
            yield _key(field, (*path, name))
        else:
            yield from _keys(inner, _table(field, (*path, name)))
    extra = _extra(section)
    if extra is not None:
        yield from _keys(extra, (*path, ANY))


def _sections(section: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    yield path, (section.__doc__ or "").strip()
    for name, field in section.model_fields.items():
        inner = _inner(field)
        if inner is not None:
            yield from _sections(inner, _table(field, (*path, name)))
    extra = _extra(section)
    if extra is not None:
        yield from _sections(extra, (*path, ANY))


def _key(field: FieldInfo, path: tuple[str, ...]) -> Key:
    default: object = ...
    if not field.is_required():
        default = as_toml(field.get_default(call_default_factory=True))
    if default is None:
        default = ...
    if field.examples:
        example = field.examples[0]
    else:
        example = default
    return Key(path, default, example, field.description or "")


def _inner(field: FieldInfo) -> type[ConfigSection] | None:
    """Return the section that a field holds, itself, by name, or in a list."""
    annotation: Any = field.annotation
    if get_origin(annotation) is Mapping:
        held = get_args(annotation)[-1]
    elif get_origin(annotation) is tuple:
        held = get_args(annotation)[0]
    else:
        held = annotation
    if isinstance(held, type) and issubclass(held, ConfigSection):
        return held
    return None


def _table(field: FieldInfo, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of the tables that a field holds: by name it goes on with any name."""
    if get_origin(field.annotation) is Mapping:
        return (*path, ANY)
    return path


def _extra(section: type[BaseModel]) -> type[ConfigSection] | None:
    """Return the section that stands under names free to choose, beside the fields."""
    held = None
    for base in section.__mro__:
        annotation = inspect.get_annotations(base).get("__pydantic_extra__")
        if annotation and issubclass(base, ConfigSection):
            held = get_args(annotation)[-1]
            break
    if isinstance(held, type) and issubclass(held, ConfigSection):
        return held
    return None


def missing(value: object) -> bool:
    """Whether a key has no default."""
    return isinstance(value, EllipsisType)
