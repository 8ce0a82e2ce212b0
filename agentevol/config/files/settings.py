"""Settings of a configuration one by one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def flattened(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and value as JSON of a nested configuration."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False, default=str)
