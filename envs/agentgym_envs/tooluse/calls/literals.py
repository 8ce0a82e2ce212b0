"""Bounded JSON and Python literals.

Raises `InvalidLiteral` beyond 64 Ki characters of text, nesting of 32, 256 members of a container, integers
of 40 digits or strings of 16 Ki characters, for duplicate keys, half characters, NaN and infinities.
"""

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn, cast

MAX_TEXT = 64 * 1024
MAX_DEPTH = 32
MAX_MEMBERS = 256
MAX_DIGITS = 40
MAX_STRING = 16 * 1024
SPACE = " \t\n\r"
SURROGATES = re.compile("[\ud800-\udfff]")
"""Surrogates: JSON's escapes can spell one alone, UTF-8 cannot."""
LONE_SURROGATE = "an escape spells half a character"


class InvalidLiteral(ValueError):
    """Text that is no value, or a value beyond the limits."""


def json_value(text: str) -> Any:
    """The value of a JSON text."""
    value, end = json_prefix(text)
    if end < len(text) and text[end:].strip(SPACE):
        raise InvalidLiteral(f"text follows the JSON value at character {end}")
    return value


def json_prefix(text: str) -> tuple[Any, int]:
    """The JSON value with which a text begins, and where it ends."""
    if len(text) > MAX_TEXT:
        raise InvalidLiteral(f"the text is longer than {MAX_TEXT} characters")
    start = len(text) - len(text.lstrip(SPACE))
    try:
        value, end = _decoder.raw_decode(text, start)
    except RecursionError:
        raise InvalidLiteral(f"nested deeper than {MAX_DEPTH}") from None
    except json.JSONDecodeError as cause:
        raise InvalidLiteral(f"{cause.msg} at character {cause.pos}") from None
    _check_size(text, value)
    return value, end


def decoded(texts: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that were given as texts: what the schema wants as a string stays, others are read as JSON.

    A text that is no JSON stays too, for the schema to refuse.
    """
    members: Mapping[str, Any] = schema.get("properties", {})
    return {name: _decoded(text, members.get(name, {})) for name, text in texts.items()}


def _decoded(text: str, schema: Mapping[str, Any]) -> Any:
    kinds = schema.get("type", ())
    if kinds == "string":
        return text
    try:
        value = json_value(text)
    except InvalidLiteral:
        return text
    return value if "string" not in kinds or value is None else text


def python_value(text: str) -> Any:
    """The value of a Python literal of dict, list, str, int, float, bool and None."""
    if len(text) > MAX_TEXT:
        raise InvalidLiteral(f"the text is longer than {MAX_TEXT} characters")
    try:
        return literal_of(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as cause:
        raise cause if isinstance(cause, InvalidLiteral) else InvalidLiteral("not a literal") from None


def literal_of(node: ast.expr, otherwise: str = "not a literal") -> Any:
    """The value of a parsed Python literal, without evaluating it; `otherwise` says that it is none."""
    try:
        value = ast.literal_eval(node)
        twice = next(filter(None, map(_key_given_twice, ast.walk(node))), None)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise InvalidLiteral(otherwise) from None
    if twice is not None:
        raise InvalidLiteral(f"the key {twice[:80]!r} occurs twice")
    check_literal(value)
    return value


def _key_given_twice(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Dict):
        return None
    return _repeated([key.value for key in node.keys if isinstance(key, ast.Constant)])


def _repeated(keys: Sequence[Hashable]) -> str | None:
    """The first key that occurs more than once."""
    counts = Counter(keys)
    return next((str(key) for key in keys if counts[key] > 1), None)


def check_literal(value: object, depth: int = 0) -> None:
    """Raise `InvalidLiteral` for a value that JSON does not have, or that is beyond the limits."""
    if type(value) is dict or type(value) is list:
        if depth >= MAX_DEPTH:
            raise InvalidLiteral(f"nested deeper than {MAX_DEPTH}")
        _check_members(cast("dict[object, object] | list[object]", value), depth)
    elif problem := _scalar_problem(value):
        raise InvalidLiteral(problem)


def _scalar_problem(value: object) -> str:
    if type(value) is str:
        if len(value) > MAX_STRING:
            return f"a string is longer than {MAX_STRING} characters"
        return LONE_SURROGATE if SURROGATES.search(value) else ""
    if type(value) is int:
        return f"an integer has more than {MAX_DIGITS} digits" if abs(value) >= 10**MAX_DIGITS else ""
    if type(value) is float:
        return "" if math.isfinite(value) else "a number is out of range"
    return "" if value is None or type(value) is bool else f"a {type(value).__name__} is no value of JSON"


def _check_members(value: dict[object, object] | list[object], depth: int) -> None:
    if len(value) > MAX_MEMBERS:
        raise InvalidLiteral(f"more than {MAX_MEMBERS} members in one container")
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise InvalidLiteral("a key is not a string")
            check_literal(key, depth + 1)
    for member in value.values() if isinstance(value, dict) else value:
        check_literal(member, depth + 1)


def _check_size(text: str, value: object) -> None:
    """`check_literal`, for texts that may exceed a limit only: most are far below all of them."""
    if (
        len(text) > MAX_STRING
        or text.count(",") >= MAX_MEMBERS
        or text.count("[") + text.count("{") >= MAX_DEPTH
        or "\\u" in text  # escapes may spell half a character
    ):
        check_literal(value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = _repeated([key for key, _ in pairs]) or ""
        raise InvalidLiteral(f"the key {twice[:80]!r} occurs twice")
    return value


def _constant(name: str) -> NoReturn:
    raise InvalidLiteral(f"{name} is no value of JSON")


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise InvalidLiteral(f"an integer has more than {MAX_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InvalidLiteral("a number is out of range")
    return number


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer, parse_float=_finite
)
