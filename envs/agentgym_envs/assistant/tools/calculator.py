"""Values of the assistant's calculator."""

from agentgym_envs.tooluse import ToolError
from agentgym_envs.tooluse.arithmetic import WITH_REMAINDERS, InvalidExpression, Number, evaluated

LARGEST = 1e15


def calculated(expression: str) -> Number:
    """The value of an expression of numbers, + - * / // % and parentheses.

    Raises `ToolError` for anything else, more than 200 parts, and values beyond 1e15.
    """
    try:
        value = evaluated(expression, WITH_REMAINDERS, _bounded)
    except (ZeroDivisionError, OverflowError):
        raise _invalid("it has no finite value") from None
    except InvalidExpression as problem:
        raise _invalid(str(problem)) from None
    return round(value, 10) if isinstance(value, float) else value


def _bounded(value: Number) -> Number:
    if not -LARGEST <= value <= LARGEST:
        raise _invalid("a value is beyond 1e15")
    return value


def _invalid(reason: str) -> ToolError:
    return ToolError(f"invalid_expression: {reason}", argument="expression")
