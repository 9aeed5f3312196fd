"""Decide whether the function of a tool can be called with what the tool's schema allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from typing import Final

from prloom.model.record import Json

CONTEXT: Final = "ctx"
"""The parameter that gets the context of the call, and no argument of the agent's."""

_ELSEWHERE: Final = {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentRequired", "dependentSchemas"}
"""What may require arguments, or name them, in another place than `properties` and `required`."""

_SEVERAL: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_BY_NAME: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def problem(schema: Mapping[str, Json], signature: Signature) -> str | None:
    """Return which parameter does not fit the schema, and how to mend it, or None.

    A function gets its arguments by their names. Each one that the schema lists must have a parameter, and each
    parameter that must be given has to be required by the schema: else a valid call fails.
    """
    return next(_problems(schema, signature.parameters), None)


def _problems(schema: Mapping[str, Json], parameters: Mapping[str, Parameter]) -> Iterator[str]:
    listed, required = schema.get("properties"), schema.get("required")
    names = [*listed] if isinstance(listed, Mapping) else []
    needed = required if isinstance(required, list | tuple) else ()
    for name, parameter in parameters.items():
        must = parameter.default is Parameter.empty and parameter.kind not in _SEVERAL
        if must and parameter.kind is Parameter.POSITIONAL_ONLY:
            yield f"parameter {name!r} takes no argument by its name; remove the '/' behind it"
        elif name == CONTEXT and name in names:
            yield f"parameter {name!r} is the context of the call; give the argument of the schema another name"
        elif must and name not in (*needed, CONTEXT) and not _ELSEWHERE & schema.keys():
            yield f"parameter {name!r} has no default, and the schema does not require it; let it, or add a default"
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values()):
        return
    by_name = {each.name for each in parameters.values() if each.kind in _BY_NAME}
    for name in dict.fromkeys((*names, *needed)):
        if name not in by_name:
            yield f"the schema has {name!r}, and the function has no parameter {name!r}; add it"
