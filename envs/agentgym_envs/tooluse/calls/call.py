"""The record of a tool call."""

from typing import Any, NamedTuple


class Call(NamedTuple):
    """Call of a tool by name."""

    name: str
    arguments: dict[str, Any]
    positional: tuple[Any, ...] = ()
    """Arguments without names, which only calls in Python's syntax have."""
    texts: bool = False
    """True if all arguments are texts, as in XML: the tool's schema says which are JSON."""
