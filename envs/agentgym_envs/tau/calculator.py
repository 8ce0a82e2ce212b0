"""Arithmetic of the `calculate` tools: + - * / ( ) and numbers, without powers.

> calculated("(3 + 4) * 2.5")
'17.5'
"""

import ast
import math
import operator
from collections.abc import Callable

from agentgym_envs.tooluse import ToolError

ALLOWED = frozenset("0123456789+-*/(). ")
MAX_LENGTH = 1000
MAX_NODES = 200
MAX_RESULT = 1e15

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
}


def calculated(expression: str, invalid: str = "Invalid characters in expression") -> str:
    """The value, rounded to two digits, as text. Raises `ToolError`, for other characters with `invalid`."""
    if not ALLOWED.issuperset(expression):
        raise ToolError(invalid, argument="expression")
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"the expression is longer than {MAX_LENGTH} characters", argument="expression")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise ToolError(f"the expression has more than {MAX_NODES} parts", argument="expression")
        value = float(_value(tree))
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
        raise ToolError("invalid expression", argument="expression") from None
    except ZeroDivisionError:
        raise ToolError("division by zero", argument="expression") from None
    if not math.isfinite(value) or abs(value) > MAX_RESULT:
        raise ToolError(f"the result is beyond {MAX_RESULT:g}", argument="expression")
    return str(round(value, 2))


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("not arithmetic")
