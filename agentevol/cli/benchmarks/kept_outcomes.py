"""Outcomes of a benchmark's trials, kept in a file as they come, so that an interrupted comparison goes on.

{"settings": {"env": "social", "rounds": 2}, "outcomes": [{"arm": "bc", "seed": 0}]}
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agentevol.core.errors import ConfigError
from agentgym_envs.core import Record
from agentgym_store.files import whole_file

R = TypeVar("R", bound=Record)


def kept_records(file: Path | None, settings: Mapping[str, Any], kind: type[R]) -> list[R]:
    """Outcomes of this kind in a file; none without one. Raises `ConfigError` for a file of other settings,
    and for one that holds no outcomes.
    """
    if file is None or not file.is_file():
        return []
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        known, outcomes = found["settings"], list(found["outcomes"])
    except (ValueError, KeyError, TypeError) as cause:
        raise ConfigError(f"{file} has no outcomes of a benchmark: name another file") from cause
    if known != json.loads(json.dumps(settings)):
        raise ConfigError(f"{file} has outcomes of other settings: name another file")
    return [kind.model_validate(one) for one in outcomes]


def keep_records(file: Path | None, settings: Mapping[str, Any], outcomes: Sequence[Record]) -> None:
    """Write all outcomes; nothing without a file."""
    if file is None:
        return
    told = {"settings": settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}
    with whole_file(file) as stream:
        stream.write((json.dumps(told, indent=1) + "\n").encode())
