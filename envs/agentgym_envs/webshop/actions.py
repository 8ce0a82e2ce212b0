"""Parser of an agent's message to an action: `search[...]` or `click[...]`, by one of two rules."""

import re
from typing import Literal, NamedTuple

from agentgym_envs.webshop.rules import Way

_FIXED = re.compile(r"([^\[]*)\[(.+)\]")


class Action(NamedTuple):
    """Name and argument of an action, in lower case."""

    name: Literal["search", "click"]
    argument: str


def parsed(message: str, parser: Way = "upstream") -> Action | None:
    """The action of a message; None for a message without one.

    The original's expression is anchored at its beginning alone, and greedy; both read one line only.

    >>> parsed("click[Buy Now] please"), parsed("search[a] and click[b]"), parsed("Search[x]")
    (Action(name='click', argument='buy now'), None, None)
    >>> parsed(" Search [x [y]]", "fixed")
    Action(name='search', argument='x [y]')
    """
    found = _upstream(message) if parser == "upstream" else _fixed(message)
    if found is None:
        return None
    name, argument = found
    if name == "search":
        return Action("search", argument.lower())
    return Action("click", argument.lower()) if name == "click" else None


def _upstream(message: str) -> tuple[str, str] | None:
    """Match of `(.+)\\[(.+)\\]`, whose time is quadratic in a message's length if no bracket closes."""
    line, _, _ = message.partition("\n")
    end = line.rfind("]")
    begin = line.rfind("[", 1, max(0, end - 1))
    return (line[:begin], line[begin + 1 : end]) if begin > 0 else None


def _fixed(message: str) -> tuple[str, str] | None:
    found = _FIXED.match(message.strip())
    return (found[1].strip().lower(), found[2]) if found else None
