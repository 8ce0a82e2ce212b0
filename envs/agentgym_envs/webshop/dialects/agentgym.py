"""AgentGym's function-call and code replies (arXiv:2406.04151); its ReAct is an action format."""

import ast
import json
import re
from typing import Any

from pydantic import BaseModel, ConfigDict

REFUSED = "Invalid Action.\n\n"
"""Text that its client puts before the repeated page if a reply cannot be parsed; the shop is not called
then.
"""
_ARGUMENTS = {"search": "keywords", "click": "item"}
_FENCE = re.compile(r"```(?:python)?[ \t]*\n(.*?)```", re.DOTALL)


class _Call(BaseModel):
    """Required members of a reply."""

    model_config = ConfigDict(strict=True)

    thought: Any
    function_name: str
    arguments: dict[str, Any]


def from_function_call(reply: str) -> str | None:
    """The action of a reply whose outermost braces hold a thought, a function's name and its arguments.

    >>> from_function_call('{"thought": "", "function_name": "click", "arguments": {"item": "< prev"}}')
    'click[< prev]'
    """
    begin, end = reply.find("{"), reply.rfind("}")
    try:
        call = _Call.model_validate(json.loads(reply[begin : end + 1], strict=False)) if begin >= 0 else None
    except (ValueError, RecursionError):
        return None
    return _action(call.function_name, call.arguments) if call else None


def from_code(reply: str) -> str | None:
    """The action of a reply whose one block of Python is one call with literal arguments; it is never
    executed.

    >>> from_code('```python\\n# The cheapest\\nsearch("red shoes")\\n```')
    'search[red shoes]'
    """
    blocks = _FENCE.findall(reply)
    try:
        call = _only_call(blocks[0]) if len(blocks) == 1 else None
        if call is None or not isinstance(call.func, ast.Name):
            return None
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        placed = [ast.literal_eval(one) for one in call.args]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    if len(placed) > 1 or (placed and arguments):
        return None
    name = call.func.id
    return _action(name, {_ARGUMENTS.get(name): placed[0]} if placed else arguments)


def _only_call(code: str) -> ast.Call | None:
    match ast.parse(code).body:
        case [ast.Expr(value=ast.Call() as call)]:
            return call
        case _:
            return None


def _action(name: str, arguments: dict[Any, Any]) -> str | None:
    if name not in _ARGUMENTS or len(arguments) != 1:
        return None
    value = arguments.get(_ARGUMENTS[name])
    return f"{name}[{value}]" if isinstance(value, str) else None
