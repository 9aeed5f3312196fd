"""Read what a plugin says of itself, from `plugin.yaml`, `plugin.yml`, `plugin.json` or `plugin.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prloom import regular_files
from prloom.api import hooks
from prloom.api.manifest import Manifest
from prloom.errors import ExtensionError
from prloom.extensions import keys, manifest_fields
from prloom.extensions.background import declaration
from prloom.model.record import Json

FILES = ("plugin.yaml", "plugin.yml", "plugin.json", "plugin.toml")
LIMIT = 16 * 1024
"""Bytes that a manifest may have: it is read before the plugin is enabled."""

_VERSION = 1
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ManifestFile:
    """A manifest as it was read, and the warnings about it."""

    manifest: Manifest
    warnings: tuple[str, ...] = ()


def files(folder: Path) -> tuple[Path, ...]:
    """Return the manifests in a folder: one, if all is well."""
    return tuple(folder / name for name in FILES if (folder / name).is_file())


def read(folder: Path) -> ManifestFile:
    """Return the folder's manifest; raises ExtensionError, whose text names the file and the key."""
    found = files(folder)
    if not found:
        raise ExtensionError(f"{folder} has no manifest; add a plugin.toml (it may be empty)")
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise ExtensionError(f"{folder} has {names}; keep one manifest")
    return parse(_content(found[0]), found[0])


def parse(content: bytes, path: Path) -> ManifestFile:
    """Return the manifest that a file's content is; the ending of its name says the format."""
    try:
        table = _decoded(content, path.suffix)
    except (ValueError, RecursionError) as error:
        raise ExtensionError(f"{path} cannot be read as {path.suffix[1:]}: {_one_line(error)}") from error
    if table is None:  # an empty YAML file
        table = {}
    if not isinstance(table, Mapping):
        raise ExtensionError(f"{path} does not contain a table; write keys such as `name: {path.parent.name}`")
    return _checked(table, path)


def _content(path: Path) -> bytes:
    try:
        content = regular_files.read(path, limit=LIMIT + 1)
    except OSError as error:
        raise ExtensionError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LIMIT:
        raise ExtensionError(f"{path} is larger than {LIMIT} bytes; a manifest is a few lines")
    return content


def _decoded(content: bytes, suffix: str) -> Json:
    """Return the parsed content; raises ValueError (or RecursionError, for absurd nesting)."""
    text = content.decode("utf-8-sig")
    if suffix == ".json":
        import json  # noqa: PLC0415 - each reader is imported where it is used: a plugin's process uses none

        return json.loads(text)
    if suffix == ".toml":
        import tomllib  # noqa: PLC0415 - likewise

        return tomllib.loads(text)
    import yaml  # noqa: PLC0415 - likewise, and 20 ms

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except (LookupError, AttributeError) as error:  # so PyYAML ends at `!!bool maybe`, `!!int ""` and `!!timestamp x`
        raise ValueError("a value is not what its tag says; remove the tag, the word with `!!`") from error


def _checked(table: Mapping[Json, Json], path: Path) -> ManifestFile:
    values, unknown = manifest_fields.checked(Manifest, table, str(path), without=declaration.FIELDS)
    sections = {manifest_fields.snake(key): value for key, value in table.items()}
    declared = declaration.read({key: sections.get(key) for key in declaration.FIELDS}, path)
    manifest = Manifest(
        **{"name": path.parent.name, **values},
        background=declared.background,
        tools=declared.tools,
        config_schema=declared.config_schema,
    )
    _check_meaning(manifest, path)
    unknown_hooks = hooks.unknown(f"{path}: provides_hooks", manifest.provides_hooks)
    return ManifestFile(manifest, (*unknown, *unknown_hooks, *declared.warnings))


def _check_meaning(manifest: Manifest, path: Path) -> None:
    wrong = keys.problem(manifest.name)
    if wrong is not None:
        raise ExtensionError(f"{path}: name: {wrong}")
    if manifest.manifest_version != _VERSION:
        raise ExtensionError(
            f"{path}: manifest_version: {manifest.manifest_version} is not supported; use version {_VERSION}"
        )
    for name in manifest.requires_env:
        if _VARIABLE.fullmatch(name) is None:
            raise ExtensionError(f"{path}: requires_env: {name!r} is not a valid name for an environment variable")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
