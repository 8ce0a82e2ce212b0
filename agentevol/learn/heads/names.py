"""Names of the heads of a process reward model, in order: `process.json` beside its weights.

{"heads": ["outcome", "safety"]}
"""

import json
from collections.abc import Sequence
from pathlib import Path

from agentevol.core.errors import ConfigError

FILE = "process.json"


def named(objectives: Sequence[str], outputs: int) -> tuple[str, ...]:
    """Names of the heads; numbers where several are unnamed."""
    return tuple(objectives) or (("outcome",) if outputs == 1 else tuple(map(str, range(outputs))))


def to_bytes(names: Sequence[str]) -> bytes:
    """Content of `process.json`."""
    return (json.dumps({"heads": list(names)}) + "\n").encode()


def head_names(folder: Path) -> tuple[str, ...] | None:
    """Head names of the process reward model in `folder`; None where there is none. `ConfigError` for a
    corrupt file.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        return tuple(str(name) for name in json.loads(file.read_bytes())["heads"])
    except (ValueError, KeyError, TypeError) as cause:
        raise ConfigError(f"{file} is corrupt: {cause!r}") from cause


def check_heads(folder: Path, names: Sequence[str]) -> None:
    """Raise `ConfigError` where the process reward model in `folder` has other heads than these."""
    found = head_names(folder)
    if found is not None and found != tuple(names):
        raise ConfigError(
            f"the process reward model {folder} has the heads {', '.join(found)}, not {', '.join(names)}:"
            " name the same ones, or begin without it"
        )
