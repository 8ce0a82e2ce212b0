"""Calls in Python's syntax, `[sort(name='a.txt'), cd('docs')]`, as BFCL writes them.

The text is parsed, not evaluated: a call of a plain name, with literal arguments, or a list of such calls.
"""

import ast
from typing import Any

from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.literals import MAX_TEXT, InvalidLiteral, check_literal


def python_calls(text: str) -> tuple[Call, ...] | None:
    """The calls of a text, None if it is not of this form.

    Raises `InvalidLiteral` for calls of anything but a name, and for arguments that are no literals.
    """
    bare = text.strip()
    if not bare.endswith((")", "]")) or "(" not in bare:
        return None
    if len(bare) > MAX_TEXT:
        raise InvalidLiteral(f"the text is longer than {MAX_TEXT} characters")
    try:
        tree = ast.parse(bare, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree]
    return tuple(_call(node) for node in nodes)


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise InvalidLiteral("only calls of a tool by its name are allowed")
    arguments = dict[str, Any]()
    for keyword in node.keywords:
        if keyword.arg is None:
            raise InvalidLiteral("** is not allowed")
        arguments[keyword.arg] = _literal(keyword.value)
    return Call(node.func.id, arguments, tuple(map(_literal, node.args)))


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise InvalidLiteral("the arguments of a call are literals") from None
    check_literal(value)
    return value
