"""A calculator for expressions of models: bounded in size, and without powers."""

import ast
import operator
from collections.abc import Callable

from agentgym_envs.tooluse import ToolError

Number = int | float
MOST_NODES = 200
LARGEST = 1e15
OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
}


def calculated(expression: str) -> Number:
    """The value of an expression of numbers, + - * / // % and parentheses.

    Raises `ToolError` for anything else, more than 200 parts, and results beyond 1e15.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _invalid("it is no expression") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise _invalid(f"it has more than {MOST_NODES} parts")
    try:
        value = _value(tree)
    except (ZeroDivisionError, OverflowError):
        raise _invalid("it has no finite value") from None
    return round(value, 10) if isinstance(value, float) else value


def _value(node: ast.expr) -> Number:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)  # pyright: ignore[reportArgumentType] - the line above says so
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _bounded(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise _invalid("only numbers, + - * / // % and parentheses are allowed")


def _bounded(value: Number) -> Number:
    if not -LARGEST <= value <= LARGEST:
        raise _invalid("a value is beyond 1e15")
    return value


def _invalid(reason: str) -> ToolError:
    return ToolError(f"invalid_expression: {reason}", argument="expression")
