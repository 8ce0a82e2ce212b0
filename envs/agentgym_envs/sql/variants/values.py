"""New values for the columns of a variant."""

import random
import string
from collections.abc import Sequence

from agentgym_envs.sql.executor.results import Value
from agentgym_envs.sql.queries.conditions import Binding

STEPS = (0, 0, 0, 1, -1, 2, -2, 10, -10)
"""Offsets from the bound of a comparison: the bound itself is what tells < from <=."""


def satisfying(binding: Binding, draw: random.Random) -> Value:
    """A value with which a condition holds, or at its boundary."""
    value = binding.literal
    if binding.operator == "LIKE":
        text = str(value).replace("_", draw.choice(string.ascii_lowercase))
        return "".join(part if part != "%" else _letters(draw) for part in text)
    number = _number(value)
    if number is not None and binding.operator not in ("=", "=="):
        step = draw.choice(STEPS)
        return _as(value, number + step)
    return value


def perturbed(value: Value, draw: random.Random) -> Value:
    """A value near another one: numbers change, also those that are written as texts."""
    number = _number(value)
    if number is None or (number == 0 and isinstance(value, str)):
        return value
    if isinstance(number, float) and not number.is_integer():
        return _as(value, round(number * draw.uniform(0.7, 1.3), 4))
    span = max(1, int(abs(number) * 0.3))
    return _as(value, int(number) + draw.randint(-span, span))


class Keys:
    """Values of a key column, to which new ones are added."""

    def __init__(self, values: Sequence[Value]) -> None:
        self._examples = list(values)
        self._taken = set(values)
        numbers = [value for value in values if isinstance(value, int)]
        self._top = max(numbers, default=0) if len(numbers) == len(values) else None

    def take(self, wanted: Value, draw: random.Random) -> Value:
        """The wanted value if it is not taken, or a new one: the next number, or a text like the others."""
        fits = self._top is None or isinstance(wanted, int)
        value = wanted if fits and wanted is not None and wanted not in self._taken else self._fresh(draw)
        self._taken.add(value)
        if self._top is not None and isinstance(value, int):
            self._top = max(self._top, value)
        return value

    def _fresh(self, draw: random.Random) -> Value:
        if self._top is not None:
            return self._top + draw.randint(1, 3)
        for _ in range(100):
            found = _like(str(draw.choice(self._examples)), draw)
            if found not in self._taken:
                return found
        return f"{draw.choice(self._examples)} {len(self._taken)}"


def _like(text: str, draw: random.Random) -> str:
    """A text of the same form: letters and digits are drawn again."""
    return "".join(_same_class(character, draw) for character in text)


def _same_class(character: str, draw: random.Random) -> str:
    if character in string.digits:
        return draw.choice(string.digits)
    if character in string.ascii_uppercase:
        return draw.choice(string.ascii_uppercase)
    return draw.choice(string.ascii_lowercase) if character in string.ascii_lowercase else character


def _letters(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(0, 4)))


def _number(value: Value) -> int | float | None:
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return None


def _as(like: Value, number: float) -> Value:
    return str(number) if isinstance(like, str) else number
