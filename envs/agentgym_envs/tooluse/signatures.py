"""JSON schemas of the parameters and results of Python functions."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema

SECTION = re.compile(r"^(Args|Returns|Raises|Example|Examples|Yields):[ ]*$", re.MULTILINE)
ARGUMENT = re.compile(r"^(\w+):[ ]+(.*)$")


class Documentation(NamedTuple):
    """Docstring of a tool."""

    text: str
    """Description, without the sections."""
    arguments: dict[str, str]
    """Description of each argument."""


def described(function: Callable[..., Any]) -> Documentation:
    """The docstring of a function, in Google's form. Raises `TypeError` if there is none."""
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"tool {function.__name__!r} has no docstring, which is its description")
    sections = SECTION.split(text)
    pairs = dict(zip(sections[1::2], sections[2::2], strict=True))
    return Documentation(_joined(sections[0]), _arguments(pairs.get("Args", "")))


def parameters_of(function: Callable[..., Any], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """The JSON schema of the parameters after the first, which is the state.

    An argument whose default is None may be left out, and is not said to be null. Raises `TypeError` for a
    parameter without a type or description, or of a type that JSON does not have, and for the description of
    a parameter that there is not.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    unknown = sorted(descriptions.keys() - {parameter.name for parameter in parameters})
    if unknown:
        raise TypeError(f"tool {function.__name__!r} describes {unknown[0]!r}, which is no parameter of it")
    properties = {
        one.name: _property(function, one, hints.get(one.name), descriptions.get(one.name))
        for one in parameters
    }
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def returned(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The JSON schema of the result; None where the function does not state its type."""
    hint = get_type_hints(function, include_extras=True).get("return")
    return None if hint is None or hint is Any else _schema(function, "the result", hint)


def _property(
    function: Callable[..., Any], parameter: inspect.Parameter, hint: Any, description: str | None
) -> dict[str, Any]:
    if hint is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(f"tool {function.__name__!r}: parameter {parameter.name!r} has no type")
    if description is None:
        raise TypeError(f"tool {function.__name__!r}: parameter {parameter.name!r} is not described in Args:")
    schema = _schema(function, f"parameter {parameter.name!r}", hint)
    if parameter.default is None:  # left out or null are the same, and a schema is read more easily without
        schema = _without_null(schema)
    schema["description"] = description
    if parameter.default is not inspect.Parameter.empty and parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _schema(function: Callable[..., Any], what: str, hint: Any) -> dict[str, Any]:
    try:
        schema = TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as cause:
        raise TypeError(
            f"tool {function.__name__!r}: {what} has a type that JSON does not have: {hint}"
        ) from cause
    return cast("dict[str, Any]", _simple(schema, schema.pop("$defs", {})))


def _simple(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema without titles and references, and with lists of types instead of unions of them."""
    if isinstance(schema, list):
        return [_simple(one, definitions) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    if "$ref" in members:
        return _simple(definitions[members["$ref"].rpartition("/")[2]], definitions)
    found: dict[str, Any] = {
        name: {one: _simple(member, definitions) for one, member in value.items()}
        if name == "properties"
        else _simple(value, definitions)
        for name, value in members.items()
        if not (name == "title" and isinstance(value, str))
    }
    choices: list[dict[str, Any]] = found.get("anyOf", [])
    if choices and all(list(choice) == ["type"] for choice in choices):
        found["type"] = [choice["type"] for choice in choices]
        del found["anyOf"]
    if found.get("type") == "object" and "properties" in found:
        found.setdefault("additionalProperties", False)  # a TypedDict has no other members
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds, choices = schema.get("type"), [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if isinstance(kinds, list):
        left = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        return {**schema, "type": left[0] if len(left) == 1 else left}
    if len(choices) == 1:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**choices[0], **rest}
    return {**schema, "anyOf": choices} if choices else schema


def _arguments(section: str) -> dict[str, str]:
    """`name: text` lines of a section, with their continuation lines, which are indented further."""
    lines = inspect.cleandoc("\n" + section).splitlines()
    found, name = dict[str, str](), ""
    for line in lines:
        match = ARGUMENT.match(line)
        if match is not None:
            name = match.group(1)
            found[name] = match.group(2).strip()
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


def _joined(text: str) -> str:
    """Paragraphs on one line each."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))
