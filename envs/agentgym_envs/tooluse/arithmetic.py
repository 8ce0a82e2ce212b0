"""Arithmetic of expressions that models write: bounded in size, without names, calls and powers."""

import ast
import operator
from collections.abc import Callable, Mapping

Number = int | float
Operators = Mapping[type[ast.operator], Callable[[Number, Number], Number]]
MOST_PARTS = 200
BASIC: Operators = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
}
WITH_REMAINDERS: Operators = {
    **BASIC,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
}


class InvalidExpression(ValueError):
    """Text that is no arithmetic."""


class TooManyParts(InvalidExpression):
    """An expression of more than `MOST_PARTS` parts."""


def evaluated(expression: str, operators: Operators, checked: Callable[[Number], Number]) -> Number:
    """The value of an expression of numbers, signs, parentheses and these operators.

    `checked` is applied to every number, those in between included; it may convert or refuse them. Raises
    `InvalidExpression`, `ZeroDivisionError`, `OverflowError`, and what `checked` raises.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InvalidExpression("it is no expression") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_PARTS:
        raise TooManyParts(f"it has more than {MOST_PARTS} parts")
    return _value(tree, operators, checked)


def _value(node: ast.expr, operators: Operators, checked: Callable[[Number], Number]) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        if isinstance(node.value, bool):
            raise InvalidExpression("a truth value is no number")
        return checked(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _value(node.operand, operators, checked)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in operators:
        left = _value(node.left, operators, checked)
        return checked(operators[type(node.op)](left, _value(node.right, operators, checked)))
    raise InvalidExpression("it has more than numbers, operators and parentheses")
