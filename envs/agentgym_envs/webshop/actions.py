"""What a message of an agent asks for: `search[...]` or `click[...]`, read in one of two ways."""

import re
from typing import Literal, NamedTuple

from agentgym_envs.webshop.rules import Way

_FIXED = re.compile(r"([^\[]*)\[(.+)\]")


class Action(NamedTuple):
    """A name and its argument, in lower case."""

    name: Literal["search", "click"]
    argument: str


def parsed(message: str, parser: Way = "upstream") -> Action | None:
    """None for anything that is no action.

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
    """As `(.+)\\[(.+)\\]` matches, which takes the square of a message's length where no bracket closes."""
    line, _, _ = message.partition("\n")
    end = line.rfind("]")
    begin = line.rfind("[", 1, max(0, end - 1))
    return (line[:begin], line[begin + 1 : end]) if begin > 0 else None


def _fixed(message: str) -> tuple[str, str] | None:
    found = _FIXED.match(message.strip())
    return (found[1].strip().lower(), found[2]) if found else None
