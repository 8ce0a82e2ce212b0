"""Calls in Python's syntax, `[sort(name='a.txt'), cd('docs')]`, as BFCL writes them.

The text is parsed, not evaluated: a call of a plain name, with literal arguments, or a list of such calls.
"""

import ast
from typing import Any

from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.literals import MAX_TEXT, InvalidLiteral, literal_of


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
        if keyword.arg in arguments:
            raise InvalidLiteral(f"the argument {keyword.arg[:80]!r} is given twice")
        arguments[keyword.arg] = _literal(keyword.value)
    return Call(node.func.id, arguments, tuple(map(_literal, node.args)))


def _literal(node: ast.expr) -> Any:
    return literal_of(node, otherwise="the arguments of a call are literals")
