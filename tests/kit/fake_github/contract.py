"""Check every request and every response against GitHub's own description.

`jsonschema-rs` does the work: it is one wheel without dependencies and takes microseconds where openapi-core, with
its dozen packages, takes milliseconds a call; what it lacks, templates of paths and `nullable`, are the few lines of
`paths` and `description`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from . import description, paths, relaxations
from .exchange import Json

ADDRESS = "urn:github"
ERRORS = ("basic-error", "validation-error", "validation-error-simple")


class ContractBroken(AssertionError):  # noqa: N818  # it says what happened
    """A request or a response is not what GitHub's description says."""


@cache
def registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(ADDRESS, dict(description.read()))], draft=jsonschema_rs.Draft4)


@cache
def validator(pointer: str) -> Any:
    """Return a validator of the schema at this place of the description."""
    return jsonschema_rs.Draft4Validator(
        {"$ref": f"{ADDRESS}#{pointer}"}, registry=registry(), validate_formats=True, ignore_unknown_formats=True
    )


def escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")


@cache
def template_of(path: str) -> tuple[str, Mapping[str, str]] | None:
    return paths.find(path, description.read()["paths"])


def operation(method: str, path: str) -> tuple[str, Mapping[str, Any]]:
    """Return template and description of an operation."""
    found = template_of(path)
    if found is None:
        raise ContractBroken(f"{method} {path}: the slice has no such path; add it to tests/data/github/cut.py")
    template, _ = found
    described = description.read()["paths"][template].get(method.lower())
    if described is None:
        raise ContractBroken(f"{method} {path}: the slice has {template}, but not this method")
    return template, described


def check_request(method: str, path: str, query: Mapping[str, str], body: Json) -> None:
    """Raise if the operation, a parameter of the query or the body is not described. `body` None: there is none."""
    template, described = operation(method, path)
    where = f"{method} {path}"
    parameters = {each["name"]: each for each in map(description.resolve, described.get("parameters", ()))}
    for name, text in query.items():
        if parameters.get(name, {}).get("in") != "query":
            raise ContractBroken(f"{where}: the query parameter {name!r} is not described")
        check_parameter(where, name, text, description.resolve(parameters[name]["schema"]))
    wanted = described.get("requestBody")
    if body is None:
        if wanted and wanted.get("required"):
            raise ContractBroken(f"{where}: the request has no body")
        return
    if wanted is None:
        raise ContractBroken(f"{where}: the request has a body, {body!r}, but none is described")
    pointer = f"/paths/{escaped(template)}/{method.lower()}/requestBody/content/application~1json/schema"
    check(body, pointer, f"{where}: request body")


def check_parameter(where: str, name: str, text: str, schema: Mapping[str, Any]) -> None:
    value: Json = text
    if schema.get("type") == "integer" and text.isdigit():
        value = int(text)
    if schema.get("type") == "boolean" and text in {"true", "false"}:
        value = text == "true"
    for error in jsonschema_rs.Draft4Validator(dict(schema), validate_formats=True).iter_errors(value):
        raise ContractBroken(f"{where}: the query parameter {name!r}: {error.message}")


def check_response(method: str, path: str, status: int, body: Json) -> None:
    """Raise if the operation does not answer so. `body` None: there is none."""
    template, described = operation(method, path)
    where = f"{method} {path}: response {status}"
    answer = described["responses"].get(str(status))
    if answer is None and status not in relaxations.STATUSES:
        raise ContractBroken(f"{where} is not described")
    if answer is None or (status >= 400 and is_error(body)):
        check_error(status, body, where)
        return
    pointer = f"/paths/{escaped(template)}/{method.lower()}/responses/{status}"
    if "$ref" in answer:
        pointer = answer["$ref"].removeprefix("#")
    content = description.resolve(answer).get("content", {})
    if "application/json" not in content:
        if body is not None:
            raise ContractBroken(f"{where} has a body, but none is described")
        return
    check(body, f"{pointer}/content/application~1json/schema", where)


def is_error(body: Json) -> bool:
    """Return whether this is one of the forms that GitHub gives to any error, whatever an operation says of its own."""
    return any(validator(f"/components/schemas/{name}").is_valid(body) for name in ERRORS)


def check_error(status: int, body: Json, where: str) -> None:
    if body is not None and not is_error(body):
        check(body, f"/components/schemas/{'validation-error' if status == 422 else 'basic-error'}", where)


def check(value: Json, pointer: str, where: str) -> None:
    for found in validator(pointer).iter_errors(value):
        error = nearest(found)
        place = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
        raise ContractBroken(f"{where} at {place}: {error.message[:300]}")


def nearest(error: Any) -> Any:
    """Return the error as deep inside as can be told: below a choice, that of the alternative which came furthest."""
    below = [nearest(inner) for branch in getattr(error.kind, "context", ()) for inner in branch]
    return max(below, key=lambda inner: len(inner.instance_path), default=error)
