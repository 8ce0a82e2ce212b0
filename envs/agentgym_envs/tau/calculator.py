"""Arithmetic of the `calculate` tools: + - * / // ( ) and numbers, without powers.

> calculated("(3 + 4) * 2.5")
'17.5'
"""

import math

from agentgym_envs.tooluse import ToolError
from agentgym_envs.tooluse.arithmetic import (
    MOST_PARTS,
    WITH_REMAINDERS,
    InvalidExpression,
    TooManyParts,
    evaluated,
)

ALLOWED = frozenset("0123456789+-*/(). ")
MAX_LENGTH = 1000
MAX_RESULT = 1e15


def calculated(expression: str, invalid: str = "Invalid characters in expression") -> str:
    """The value, rounded to two digits, as text. Raises `ToolError`, for other characters with `invalid`."""
    if not ALLOWED.issuperset(expression):
        raise ToolError(invalid, argument="expression")
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"the expression is longer than {MAX_LENGTH} characters", argument="expression")
    try:
        value = evaluated(expression, WITH_REMAINDERS, lambda number: float(str(number)))
    except TooManyParts:
        raise ToolError(f"the expression has more than {MOST_PARTS} parts", argument="expression") from None
    except (InvalidExpression, OverflowError):
        raise ToolError("invalid expression", argument="expression") from None
    except ZeroDivisionError:
        raise ToolError("division by zero", argument="expression") from None
    if not math.isfinite(value) or abs(value) > MAX_RESULT:
        raise ToolError(f"the result is beyond {MAX_RESULT:g}", argument="expression")
    return str(round(value, 2))
