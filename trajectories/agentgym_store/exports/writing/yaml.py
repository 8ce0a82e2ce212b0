"""A subset of YAML, written: what the header of a data card needs.

Texts that could be read as something else are written as JSON strings, which are YAML as well.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.ASCII)
_RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def to_yaml(value: Mapping[str, Any]) -> str:
    """An object of texts, numbers, lists and objects in block style."""
    return "\n".join(_members(value, ""))


def _members(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, member in value.items():
        yield from _entry(f"{indent}{name}:", member, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield head
        yield from _members(cast("Mapping[str, Any]", value), f"{indent}  ")
    elif isinstance(value, list) and value:
        yield head
        for item in cast("Sequence[Any]", value):
            lines = list(_item(item, indent))
            yield f"{indent}- {lines[0].strip()}"
            yield from lines[1:]
    else:
        yield f"{head} {_scalar(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield from _members(cast("Mapping[str, Any]", value), f"{indent}  ")
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    return json.dumps(value, ensure_ascii=False)
