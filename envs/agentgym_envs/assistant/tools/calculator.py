"""Values of the assistant's calculator."""

import re

from agentgym_envs.tooluse import ToolError
from agentgym_envs.tooluse.arithmetic import WITH_REMAINDERS, InvalidExpression, Number, evaluated

LARGEST = 1e15
MOST_DIGITS = 30
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A decimal number; Python's grammar has others, such as `0x10`, `1_000` and `1j`."""
SIGNS = frozenset("+-*/%() \t\n")
"""Characters that may stand between numbers."""
PLUS = re.compile(r"(?:^|[-+*/%(])\s*\+")
"""A plus that adds nothing to anything."""


def calculated(expression: str) -> Number:
    """The value of an expression of decimal numbers, + - * / // % and parentheses.

    Raises `ToolError` for anything else, numbers of more than 30 digits, more than 200 parts, and values
    beyond 1e15.
    """
    _check(expression)
    try:
        value = evaluated(expression, WITH_REMAINDERS, _bounded)
    except (ZeroDivisionError, OverflowError):
        raise _invalid("it has no finite value") from None
    except InvalidExpression as problem:
        raise _invalid(str(problem)) from None
    return round(value, 10) if isinstance(value, float) else value


def _check(expression: str) -> None:
    if any(sum(map(str.isdigit, number)) > MOST_DIGITS for number in NUMBER.findall(expression)):
        raise _invalid(f"a number has more than {MOST_DIGITS} digits")
    rest = NUMBER.sub("", expression)
    if not SIGNS.issuperset(rest) or PLUS.search(NUMBER.sub("1", expression)):
        raise _invalid("it has more than decimal numbers, + - * / // % and parentheses")


def _bounded(value: Number) -> Number:
    if not -LARGEST <= value <= LARGEST:
        raise _invalid("a value is beyond 1e15")
    return value


def _invalid(reason: str) -> ToolError:
    return ToolError(f"invalid_expression: {reason}", argument="expression")
