"""Typed answers, and their comparison with what an agent gives.

> matches(Answer(kind="number", value=18.5, tolerance=0.1), "18.55")
True
> matches(Answer(kind="integer", value=1), True)
False
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal, cast

from agentgym_envs.core import Record

Scalar = Literal["number", "integer", "string", "date", "boolean"]
NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})", re.ASCII)
INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
YES_OR_NO = {"yes": True, "no": False}


class Answer(Record):
    """The answer of a task. A number written as text counts as the number, `yes` and `no` as booleans."""

    kind: Scalar
    """Type of the value, or of each item if the value is a list."""
    value: Any
    """A JSON value: a scalar, or a list of scalars."""
    tolerance: float = 0.0
    """Largest difference of a number; the question states it."""
    ordered: bool = False
    """True if the order of a list counts."""


def matches(answer: Answer, given: object) -> bool:
    """True if a JSON value is the answer. Never raises."""
    value: object = answer.value
    if type(value) is not list:
        return _same(answer, value, given)
    wanted = cast("list[object]", value)
    if type(given) is not list:
        return False
    items = cast("list[object]", given)
    if len(items) != len(wanted):
        return False
    if answer.ordered:
        return _all_same(answer, wanted, items)
    return _same_multiset(answer, wanted, items)


def _all_same(answer: Answer, wanted: Sequence[object], given: Sequence[object]) -> bool:
    return all(_same(answer, one, other) for one, other in zip(wanted, given, strict=True))


def _same_multiset(answer: Answer, wanted: Sequence[object], given: Sequence[object]) -> bool:
    values, rights = ([_value(answer.kind, one) for one in side] for side in (given, wanted))
    if any(value is None for value in (*values, *rights)):
        return False
    # With one tolerance for all, sorted lists match pairwise if any pairing does.
    return _all_same(answer, sorted(rights), sorted(values))


def _same(answer: Answer, wanted: Any, given: object) -> bool:
    value, right = _value(answer.kind, given), _value(answer.kind, wanted)
    if value is None:
        return False
    if answer.kind == "number":
        return abs(value - right) <= answer.tolerance + 1e-9 * max(1.0, abs(right))
    return value == right


def _value(kind: Scalar, given: object) -> Any:
    """The value as its type, None for one of another type."""
    if kind in ("number", "integer"):
        return _number(given, INTEGER if kind == "integer" else NUMBER)
    if kind == "boolean":
        return given if type(given) is bool else YES_OR_NO.get(_plain(given) or "")
    return _plain(given)


def _number(given: object, form: re.Pattern[str]) -> int | float | None:
    if isinstance(given, str):
        text = given.strip()
        if not form.fullmatch(text):
            return None
        return int(text) if INTEGER.fullmatch(text) else float(text)
    if type(given) is int:
        return given if abs(given) < 10**40 else None
    if type(given) is not float or not math.isfinite(given):
        return None
    if form is INTEGER:
        return int(given) if given.is_integer() else None
    return given


def _plain(given: object) -> str | None:
    """Text without its case and outer spaces, in one Unicode form; None for what is no text."""
    if not isinstance(given, str):
        return None
    return " ".join(unicodedata.normalize("NFC", given).casefold().split())
