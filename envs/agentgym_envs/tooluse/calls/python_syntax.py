"""Calls in Python's syntax, `[sort(name='a.txt'), cd('docs')]`, as BFCL writes them.

The text is parsed, not evaluated: a call of a plain name, with literal arguments, or several. As in BFCL's
own decoder the brackets may be missing and a comma may follow; the message may be one fenced block, and calls
may also stand on a line each.
"""

import ast
import re
from typing import Any

from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.literals import MAX_MEMBERS, MAX_TEXT, InvalidLiteral, literal_of

FENCE = re.compile(r"```[ \t]*(?:python|py|tool_code)?[ \t]*\r?\n(.*)```", re.DOTALL | re.IGNORECASE)
AROUND = "` \t\r\n"
SEPARATORS = ",; \t\r\n"
"""Characters that may stand after a call."""


def python_calls(text: str) -> tuple[Call, ...] | None:
    """The calls of a text, None if it is not of this form.

    Raises `InvalidLiteral` for calls of anything but a name, and for arguments that are no literals.
    """
    fenced = FENCE.fullmatch(text.strip())
    bare = (fenced[1] if fenced else text).strip(AROUND).rstrip(SEPARATORS)
    if not bare.endswith((")", "]")) or "(" not in bare:
        return None
    if len(bare) > MAX_TEXT:
        raise InvalidLiteral(f"the text is longer than {MAX_TEXT} characters")
    whole = _expression(bare)
    nodes = _lines(bare) if whole is None else _members(whole)
    return tuple(map(_call, nodes)) or None


def _expression(text: str) -> ast.expr | None:
    """The parsed expression; None for a text that is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _members(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


def _lines(text: str) -> list[ast.expr]:
    """The calls of a text with some on each line, comments left out; [] if a line has anything else."""
    found = list[ast.expr]()
    for line in text.splitlines():
        written = line.strip().rstrip(SEPARATORS)
        if not written or written.startswith("#"):
            continue
        node = _expression(written)
        nodes = [] if node is None else _members(node)
        if not nodes or not all(map(_is_call_by_name, nodes)):
            return []
        found += nodes
        if len(found) > MAX_MEMBERS:
            raise InvalidLiteral(f"more than {MAX_MEMBERS} calls")
    return found


def _is_call_by_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


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
