"""Typed comparison of answers. No text is searched for another, and no type stands in for another."""

import math
import unicodedata
from collections.abc import Callable
from typing import Any, cast

from agentgym_envs.assistant.clock import is_date, is_time


def same_answer(kind: str, given: Any, expected: Any, tolerance: float) -> bool:
    """True if an answer of a type equals the expected one. Never raises."""
    return COMPARISONS[kind](given, expected, tolerance)


def same_text(given: object, expected: object) -> bool:
    """True for texts that are equal but for case, Unicode form and surrounding space."""
    return isinstance(given, str) and isinstance(expected, str) and _folded(given) == _folded(expected)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _number(given: Any, expected: Any, tolerance: float) -> bool:
    if type(given) not in (int, float):
        return False
    try:
        return math.isclose(given, expected, rel_tol=1e-6, abs_tol=tolerance)
    except OverflowError:
        return False


def _date(given: Any, expected: Any, _: float) -> bool:
    return isinstance(given, str) and is_date(given) and given == expected


def _time(given: Any, expected: Any, _: float) -> bool:
    return isinstance(given, str) and is_time(given) and given == expected


def _texts(given: Any, expected: Any, _: float) -> bool:
    """The same texts, each as often, in any order."""
    if not isinstance(given, list) or not all(isinstance(one, str) for one in cast("list[Any]", given)):
        return False
    return sorted(map(_folded, cast("list[str]", given))) == sorted(map(_folded, expected))


def _integers(given: Any, expected: Any, _: float) -> bool:
    """The same integers in the same order."""
    return (
        isinstance(given, list)
        and all(type(one) is int for one in cast("list[Any]", given))
        and cast("list[Any]", given) == expected
    )


COMPARISONS: dict[str, Callable[[Any, Any, float], bool]] = {
    "number": _number,
    "integer": lambda given, expected, _: type(given) is int and given == expected,
    "boolean": lambda given, expected, _: type(given) is bool and given == expected,
    "date": _date,
    "datetime": _time,
    "string": lambda given, expected, _: same_text(given, expected),
    "list_string": _texts,
    "list_integer": _integers,
    "object": lambda given, expected, _: isinstance(given, dict) and given == expected,
}
