"""What a message of an agent asks for: `search[...]` or `click[...]`, read in one of two ways."""

import re
from typing import Literal, NamedTuple

from agentgym_envs.webshop.rules import Way

_UPSTREAM = re.compile(r"(.+)\[(.+)\]")
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
    found = _UPSTREAM.match(message) if parser == "upstream" else _FIXED.match(message.strip())
    if found is None:
        return None
    name = found[1] if parser == "upstream" else found[1].strip().lower()
    argument = found[2].lower()
    if name == "search":
        return Action("search", argument)
    return Action("click", argument) if name == "click" else None
