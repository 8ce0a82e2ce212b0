"""Options of an environment, as its constructor declares them: `options_of`.

    def __init__(self, size: Annotated[int, Field(ge=1, description="Rooms.")] = 4, ...):

> options_of(Rooms)["size"].read("8")
8
> options_of(Rooms)["size"].read("0")
ValueError: it should be greater than or equal to 1

The description and the range of an option are parts of its type. An argument of a type that no setting can
have, for example a path, is no option.
"""

import inspect
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Literal, cast, get_type_hints

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from agentgym_envs.core import Environment

OptionValue = str | int | float | bool
Kind = Literal["choice", "switch", "integer", "number", "text", "any"]

PRIVATE: dict[str, Any] = {"private": True}
"""`json_schema_extra` of an option that names a key, an endpoint or a file of this machine: its value is not
shown, and it is not offered to people at other machines.
"""
_SECRET = re.compile(r"(^|_)(key|keys|token|secret|password|passwd|credentials?)(_|$)", re.IGNORECASE)
_MALFORMED = {
    "int_parsing": "it should be a whole number",
    "int_from_float": "it should be a whole number",
    "float_parsing": "it should be a number",
}
_TRUTH = {"true": True, "false": False}
_LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}


@dataclass(frozen=True)
class FieldsOf:
    """Marker of `**options` that are the fields of a record: a pydantic model or a dataclass.

    **switches: Annotated[Any, FieldsOf(Rules)]
    """

    record: type[Any]
    defaults: bool = True
    """False if the defaults depend on something else."""


@dataclass(frozen=True)
class EnvironmentOption:
    """One option of an environment."""

    name: str
    kind: Kind
    """`any`: a text, a number or a truth value, of an argument without a type."""
    choices: tuple[OptionValue, ...] = ()
    """Values that a `choice` may have."""
    default: OptionValue | None = None
    """None: there is none, or it depends on other options or on data."""
    limits: str = ""
    """Range of a number in words, for example `from 1 to 1000`."""
    description: str = ""
    is_private: bool = False
    """True if it names a key, an endpoint or a file, see `PRIVATE`."""
    hint: Any = field(default=None, repr=False, compare=False)
    """Its type."""

    def read(self, text: str) -> OptionValue:
        """The value that a text stands for. Raises `ValueError`, in one line."""
        if self.kind == "choice":
            return self._chosen(text)
        if self.kind == "switch":
            if text not in _TRUTH:
                raise ValueError("it should be true or false")
            return _TRUTH[text]
        if self.kind == "any":
            return _scalar(text)
        value = self._valid(text)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("it should be a finite number")
        return text if self.kind == "text" else value

    def _chosen(self, text: str) -> OptionValue:
        for choice in self.choices:
            if text == shown(choice):
                return choice
        raise ValueError(f"it should be one of: {', '.join(map(shown, self.choices))}")

    def _valid(self, text: str) -> Any:
        try:
            return TypeAdapter(self.hint).validate_python(text)
        except ValidationError as cause:
            error = cause.errors(include_input=False, include_url=False)[0]
        told = _MALFORMED.get(error["type"], " ".join(error["msg"].split()))
        raise ValueError(told.removeprefix("Value error, ").replace("Input should be", "it should be", 1))


def options_of(environment: type[Environment[Any]]) -> dict[str, EnvironmentOption]:
    """Options of an environment by name, in the order of its constructor."""
    return {one.name: one for one in _declared(environment)}


def shown(value: OptionValue) -> str:
    """A value as `EnvironmentOption.read` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _declared(environment: type[Environment[Any]]) -> Iterator[EnvironmentOption]:
    constructor = environment.__init__
    hints = _hints(constructor)
    for name, parameter in list(inspect.signature(constructor).parameters.items())[1:]:
        hint = hints.get(name, inspect.Parameter.empty)
        if parameter.kind is parameter.VAR_KEYWORD:
            markers = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, FieldsOf)]
            yield from chain.from_iterable(map(_fields, markers))
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            yield from _option(name, hint, parameter.default)


def _hints(function: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # types that are imported for checks alone
        return {}


def _fields(marker: FieldsOf) -> Iterator[EnvironmentOption]:
    """Options of a record's fields; its schema has what their docstrings say."""
    schemas = TypeAdapter(marker.record).json_schema().get("properties", {})
    for name, hint in _field_hints(marker.record).items():
        schema = cast("dict[str, Any]", schemas.get(name, {}))
        extra = {"description": schema.get("description", "")}
        default = schema.get("default") if marker.defaults else None
        yield from _option(name, hint, default, {**extra, "private": schema.get("private", False)})


def _field_hints(record: type[Any]) -> dict[str, Any]:
    if not issubclass(record, BaseModel):
        return get_type_hints(record, include_extras=True)
    return {
        name: Annotated[(one.annotation, *one.metadata)] if one.metadata else one.annotation
        for name, one in record.model_fields.items()
    }


def _option(
    name: str, hint: Any, default: Any, extra: Mapping[str, Any] | None = None
) -> Iterator[EnvironmentOption]:
    """The option of an argument, if a setting can have its type."""
    schema = {**_schema(hint), **(extra or {})}
    found = _kind(schema)
    if found is None:
        return
    kind, choices, limits = found
    yield EnvironmentOption(
        name,
        kind,
        choices,
        default if isinstance(default, OptionValue) else None,
        limits,
        " ".join(str(schema.get("description", "")).split()),
        bool(schema.get("private")) or bool(_SECRET.search(name)),
        hint,
    )


def _schema(hint: Any) -> dict[str, Any]:
    if hint is inspect.Parameter.empty or hint is Any:
        return {"type": "any"}
    try:
        return TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return {}


def _kind(schema: Mapping[str, Any]) -> tuple[Kind, tuple[OptionValue, ...], str] | None:
    """Kind, choices and range of a value with this schema; None where a setting cannot have it."""
    members = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    values = tuple(
        value for one in members for value in one.get("enum", [one["const"]] if "const" in one else [])
    )
    if values:
        return "choice", values, ""
    kinds = {str(one.get("type")): one for one in members if not str(one.get("format", "")).endswith("path")}
    for name, kind in (("any", "any"), ("string", "text"), ("boolean", "switch")):
        if name in kinds:
            return cast("Kind", kind), (), ""
    for kind in ("number", "integer"):
        if kind in kinds:
            return cast("Kind", kind), (), _limits(kinds[kind])
    return None


def _limits(schema: Mapping[str, Any]) -> str:
    return " ".join(f"{word} {schema[name]:g}" for name, word in _LIMITS.items() if name in schema)


def _scalar(text: str) -> OptionValue:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, OptionValue) else text
