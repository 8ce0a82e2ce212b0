"""The record of a tool call, and its canonical text."""

import json
from typing import Any, NamedTuple


class Call(NamedTuple):
    """Call of a tool by name."""

    name: str
    arguments: dict[str, Any]
    positional: tuple[Any, ...] = ()
    """Arguments without names, which only calls in Python's syntax have."""
    texts: bool = False
    """True if all arguments are texts, as in XML: the tool's schema says which are JSON."""


def written(name: str, /, **arguments: Any) -> str:
    """A call as the plain JSON that agents send; `parse` reads it back."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
