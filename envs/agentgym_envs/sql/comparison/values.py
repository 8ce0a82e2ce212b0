"""Equality of values and rows.

Numbers of which one is a float are equal within 1e-6 of the larger one, or 1e-9; integers are equal exactly.
NULL equals NULL only. Text is equal in its NFC form, case included; blobs byte by byte.
"""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

from agentgym_envs.sql.executor.results import Row, Value

RELATIVE, ABSOLUTE = 1e-6, 1e-9

Shape = tuple[object, ...]
"""A row with numbers left out: rows of different shapes cannot be equal."""


def same_value(one: Value, other: Value) -> bool:
    """True if two values are equal."""
    if _is_number(one) and _is_number(other):
        return _same_number(one, other)
    return type(one) is type(other) and normal(one) == normal(other)


def normal(value: Value) -> Value:
    """The value by which exact equality is decided."""
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    return value


def same_rows(rows: Sequence[Row], choice: Sequence[Row]) -> bool:
    """True if the rows are those of `choice`, or some of them, in any order."""
    if len(rows) > len(choice):
        return False
    ours, theirs = (Counter(tuple(map(_exact, row)) for row in side) for side in (rows, choice))
    if ours <= theirs:
        return True
    by_shape, of_choice = _by_shape(rows), _by_shape(choice)
    return all(_assigned(group, of_choice.get(shape, [])) for shape, group in by_shape.items())


def _exact(value: Value) -> tuple[str, Value]:
    """A key for exactly equal values; 1 and 1.0 are, 1 and '1' are not."""
    return ("number", value) if _is_number(value) else (type(value).__name__, normal(value))


def _by_shape(rows: Sequence[Row]) -> dict[Shape, list[Row]]:
    found = defaultdict[Shape, list[Row]](list)
    for row in rows:
        found[tuple("number" if _is_number(value) else (normal(value),) for value in row)].append(row)
    return found


def _assigned(rows: list[Row], choice: list[Row]) -> bool:
    """True if each row has a row of its own among `choice`: a matching by augmenting paths."""
    if len(rows) > len(choice):
        return False
    ordered, candidates = sorted(rows, key=_numbers), sorted(choice, key=_numbers)
    if len(rows) == len(choice) and all(map(_same_row, ordered, candidates)):
        return True
    matching = _Matching(ordered, candidates)
    return all(matching.place(number) for number in range(len(ordered)))


class _Matching:
    """Places of rows among equal candidates, found one by one along augmenting paths."""

    def __init__(self, rows: list[Row], candidates: list[Row]) -> None:
        self._rows, self._candidates = rows, candidates
        self._owners = dict[int, int]()
        self._places = dict[int, int]()

    def place(self, number: int) -> bool:
        """Give a row a place, moving others where that helps; False if there is none."""
        open_rows, reached_from = [number], dict[int, int]()
        while open_rows:
            row = open_rows.pop()
            for place, candidate in enumerate(self._candidates):
                if place in reached_from or not _same_row(self._rows[row], candidate):
                    continue
                reached_from[place] = row
                if place not in self._owners:
                    self._move(place, reached_from)
                    return True
                open_rows.append(self._owners[place])
        return False

    def _move(self, place: int, reached_from: dict[int, int]) -> None:
        """Give a free place to the row that reached it, and so on back to the first row."""
        free: int | None = place
        while free is not None:
            row = reached_from[free]
            before = self._places.get(row)
            self._owners[free], self._places[row] = row, free
            free = before


def _same_row(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(same_value, one, other))


def _numbers(row: Row) -> list[float]:
    return [float(value) for value in row if isinstance(value, int | float)]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)


def _same_number(one: Value, other: Value) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    left, right = (float(value) for value in (one, other) if isinstance(value, int | float))
    return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
