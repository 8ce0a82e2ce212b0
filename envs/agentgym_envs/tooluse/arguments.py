"""Validation of arguments against JSON schemas, with the coercions that models need.

> days = {"type": "object", "properties": {"days": {"type": "number"}}, "additionalProperties": False}
> check = compiled(days)
> check({"days": "2.5"}, "")
{'days': 2.5}
> check({"day": 2}, "")
CallError: unknown argument 'day'; there are: days

Keywords: type, enum, const, anyOf, properties, required, additionalProperties, items, minItems, maxItems,
minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum, exclusiveMaximum. Others, such as
description and format, are not checked.

An integer is coerced to a number, the text of a number to a number, and the texts true and false to a
boolean.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from agentgym_envs.tooluse.errors import CallError

Check = Callable[[object, str], object]
"""Function from a JSON value and its path to the value, coerced; raises `CallError`."""
Rule = tuple[Callable[[Any], bool], str, object]
"""Condition of a value, and the message and the expectation for one that does not meet it."""

NUMBER = re.compile(r"\s*[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?\s*", re.ASCII)
BOOLEANS = {"true": True, "false": False}
NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
MISSING = object()


def compiled(schema: Mapping[str, Any]) -> Check:
    """A function that checks values against a schema.

    Raises `ValueError` for a schema with an unknown type.
    """
    if "anyOf" in schema:
        return _any_of([compiled(choice) for choice in schema["anyOf"]], schema)
    kinds = schema.get("type")
    checks = [_of_type(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds or [])]
    found = _any_of(checks, schema) if len(checks) > 1 else checks[0] if checks else _anything
    rules = _rules(schema)
    return _with_rules(found, rules) if rules else found


def _any_of(checks: Sequence[Check], schema: Mapping[str, Any]) -> Check:
    def check(value: object, path: str) -> object:
        errors = list[CallError]()
        coerced: object = MISSING
        for one in checks:
            try:
                found = one(value, path)
            except CallError as error:
                errors.append(error)
                continue
            if type(found) is type(value):
                return found
            coerced = found if coerced is MISSING else coerced
        if coerced is not MISSING:
            return coerced
        deepest = max(errors, key=lambda error: len(error.argument or ""))
        if (deepest.argument or "") != path:
            raise deepest
        _refuse(path, f"must be {_described(schema)}", _expected(schema))

    return check


def _of_type(kind: str, schema: Mapping[str, Any]) -> Check:
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return _array(schema)
    if kind not in SCALARS:
        raise ValueError(f"a schema has the unknown type {kind!r}")
    return SCALARS[kind]


def _anything(value: object, path: str) -> object:  # noqa: ARG001 - the signature of a `Check`
    return value


def _string(value: object, path: str) -> object:
    return value if type(value) is str else _misfit(value, path, "string")


def _integer(value: object, path: str) -> object:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():  # JSON has one kind of number: 2.0 is an integer
        return int(value)
    return _misfit(value, path, "integer")


def _number(value: object, path: str) -> object:
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, str) and NUMBER.fullmatch(value):
        number = float(value)
        if math.isfinite(number):
            return int(value) if value.strip().lstrip("+-").isdigit() else number
    return _misfit(value, path, "number")


def _boolean(value: object, path: str) -> object:
    if type(value) is bool:
        return value
    if isinstance(value, str) and value.lower() in BOOLEANS:
        return BOOLEANS[value.lower()]
    return _misfit(value, path, "boolean")


def _null(value: object, path: str) -> object:
    return value if value is None else _misfit(value, path, "null")


SCALARS: dict[str, Check] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
}


def _object(schema: Mapping[str, Any]) -> Check:
    members: Mapping[str, Any] = schema.get("properties", {})
    checks = {name: compiled(member) for name, member in members.items()}
    required = tuple(schema.get("required", ()))
    others = schema.get("additionalProperties", True)
    other = compiled(cast("dict[str, Any]", others)) if isinstance(others, dict) else _anything

    def check(value: object, path: str) -> object:
        if type(value) is not dict:
            return _misfit(value, path, "object")
        given = cast("dict[str, object]", value)
        for name in required:
            if name not in given:
                _refuse(_below(path, name), "is required", _expected(members.get(name, {})))
        found = dict[str, object]()
        for name, member in given.items():
            one = checks.get(name)
            if one is None:
                if others is False:
                    _refuse_name(path, name, list(members))
                one = other
            found[name] = one(member, f"{path}.{name}" if path else name)
        return found

    return check


def _array(schema: Mapping[str, Any]) -> Check:
    item = compiled(schema["items"]) if isinstance(schema.get("items"), dict) else None

    def check(value: object, path: str) -> object:
        if type(value) is not list:
            return _misfit(value, path, "array")
        items = cast("list[object]", value)
        return items if item is None else [item(one, f"{path}[{place}]") for place, one in enumerate(items)]

    return check


def _rules(schema: Mapping[str, Any]) -> list[Rule]:
    """Conditions beyond the type; one that does not apply to a type holds for it, as in JSON schema."""
    rules = list[Rule]()
    if "const" in schema:
        rules.append(_choice([schema["const"]]))
    if "enum" in schema:
        rules.append(_choice(schema["enum"]))
    for keyword, (applies, holds, text) in BOUNDS.items():
        if keyword in schema:
            rules.append(_bound(applies, holds, text, schema[keyword], keyword))
    if "pattern" in schema and (pattern := _compiled(schema["pattern"])) is not None:
        expected = {"pattern": schema["pattern"]}
        rules.append(
            (lambda v: not isinstance(v, str) or bool(pattern.search(v)), "has another form", expected)
        )
    return rules


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern; None for one in a dialect that Python does not read: the tool's server checks it."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = rf"{pattern[:-1]}\Z"  # in JSON schema, no line may end before it
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def _choice(values: Sequence[object]) -> Rule:
    listed = ", ".join(map(str, values))
    if all(isinstance(one, str) for one in values):
        texts = frozenset(values)
        return (
            lambda value: isinstance(value, str) and value in texts,
            f"must be one of: {listed}",
            list(values),
        )
    return (
        lambda value: any(
            value == one and isinstance(value, bool) == isinstance(one, bool) for one in values
        ),
        f"must be one of: {listed}",
        list(values),
    )


def _bound(
    applies: tuple[type, ...], holds: Callable[[Any, Any], bool], text: str, bound: float, keyword: str
) -> Rule:
    def of_number(value: Any) -> bool:
        return not isinstance(value, applies) or isinstance(value, bool) or holds(value, bound)

    def of_length(value: Any) -> bool:
        return not isinstance(value, applies) or holds(len(value), bound)

    return of_number if applies == NUMBERS else of_length, f"must {text} {bound}", {keyword: bound}


NUMBERS = (int, float)
BOUNDS: dict[str, tuple[tuple[type, ...], Callable[[Any, Any], bool], str]] = {
    "minimum": (NUMBERS, operator.ge, "be at least"),
    "maximum": (NUMBERS, operator.le, "be at most"),
    "exclusiveMinimum": (NUMBERS, operator.gt, "be greater than"),
    "exclusiveMaximum": (NUMBERS, operator.lt, "be less than"),
    "minLength": ((str,), operator.ge, "have a length of at least"),
    "maxLength": ((str,), operator.le, "have a length of at most"),
    "minItems": ((list,), operator.ge, "have a number of items of at least"),
    "maxItems": ((list,), operator.le, "have a number of items of at most"),
}
"""Keyword to the types that it applies to, the comparison of a number or length, and its wording."""


def _with_rules(check: Check, rules: Sequence[Rule]) -> Check:
    def checked(value: object, path: str) -> object:
        found = check(value, path)
        for holds, message, expected in rules:
            if not holds(found):
                _refuse(path, message, expected)
        return found

    return checked


def _misfit(value: object, path: str, kind: str) -> NoReturn:
    given = next((name for one, name in NAMES.items() if type(value) is one), "another value")
    _refuse(path, f"must be of type {kind}, not {given}", {"type": kind})


def _refuse(path: str, message: str, expected: object) -> NoReturn:
    subject = f"argument {path!r}" if path else "the arguments"
    raise CallError("invalid_arguments", f"{subject} {message}", argument=path or None, expected=expected)


def _refuse_name(path: str, name: str, known: list[str]) -> NoReturn:
    where = f" in {path!r}" if path else ""
    raise CallError(
        "invalid_arguments",
        f"unknown argument {name[:80]!r}{where}; there are: {', '.join(known) or 'none'}",
        argument=_below(path, name[:80]),
        expected=known,
    )


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _expected(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a schema that tells an agent what to send."""
    return {key: member for key, member in schema.items() if key in ("type", "enum", "anyOf", "pattern")}


def _described(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    if kinds is None:
        kinds = [choice.get("type", "value") for choice in schema["anyOf"]]
    return f"of type {' or '.join(map(str, kinds))}"
