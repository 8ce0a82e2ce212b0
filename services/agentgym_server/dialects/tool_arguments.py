"""Validation of the arguments of a tool call against the tool's JSON schema.

> list(misfits({"type": "object", "required": ["city"]}, {}))
[("/city", "is required")]

Checked at any depth: `type`, `enum`, `required`, `properties`, `additionalProperties`, `items`. All other
keywords are left to the environment: its answer to bad arguments is an observation.

What environments of tools accept fits: the text of a number where the schema has a number, the texts true and
false for a boolean, 2.0 for an integer, and null for an argument that may be left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from agentgym_envs.tooluse import CallError
from agentgym_envs.tooluse.arguments import SCALARS

Misfit = tuple[str, str]
"""JSON pointer of the value, and a description of the error."""

CONTAINERS: dict[str, type] = {"object": dict, "array": list}


def misfits(schema: Mapping[str, Any], value: object, path: str = "") -> Iterator[Misfit]:
    """Errors of a JSON value, outermost first; none if it is valid."""
    kinds = _kinds(schema)
    readings = [one for kind in kinds for one in _read_as(kind, value)] if kinds else [value]
    if not readings:
        yield path, f"must be of type {' or '.join(kinds)}"
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(
        _same(one, choice) for one in readings for choice in cast("list[Any]", choices)
    ):
        yield path, "must be one of the values that the schema lists"
    if isinstance(value, dict):
        yield from _member_misfits(schema, cast("dict[str, Any]", value), path)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from misfits(schema["items"], item, f"{path}/{index}")


def _member_misfits(schema: Mapping[str, Any], value: dict[str, Any], path: str) -> Iterator[Misfit]:
    known: dict[str, Any] = schema.get("properties") or {}
    others: Any = schema.get("additionalProperties", True)
    for name in schema.get("required") or ():
        if name not in value:
            yield _below(path, name), "is required"
    for name, member in value.items():
        if member is None and not path and name not in (schema.get("required") or ()):
            continue  # models write null for what they leave out
        if name not in known and others is False:
            yield _below(path, name), "unknown argument"
            continue
        member_schema = known.get(name, others)
        if isinstance(member_schema, dict):
            yield from misfits(cast("dict[str, Any]", member_schema), member, _below(path, name))


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types that a schema allows; none if it does not state any, or states unknown ones."""
    kind: Any = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else cast("list[str]", kind if isinstance(kind, list) else [])
    return kinds if all(kind in CONTAINERS or kind in SCALARS for kind in kinds) else []


def _read_as(kind: str, value: object) -> Sequence[object]:
    """The value as one of a type, coerced where that is allowed; nothing where it is of another type."""
    if kind in CONTAINERS:
        return [value] if isinstance(value, CONTAINERS[kind]) else []
    try:
        return [SCALARS[kind](value, "")]
    except CallError:
        return []


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
