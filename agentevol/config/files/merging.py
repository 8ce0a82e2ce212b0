"""Merging of nested settings."""

from collections.abc import Mapping
from typing import Any


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings, later ones over earlier ones; the parts stay as they are."""
    result: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            inherited = result.get(key)
            if isinstance(value, Mapping):
                result[key] = merged(inherited if isinstance(inherited, Mapping) else {}, value)
            else:
                result[key] = value
    return result
