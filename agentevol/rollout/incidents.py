"""Incidents in the log of an environment server: `causes`, `with_cause`.

Callers of a server are told an incident where something failed, and no address of an endpoint. The program
that has started the server reads the cause in its log.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

LONGEST_CAUSE = 400
"""Characters of a cause."""
_LOGGED = re.compile(r"incident ([0-9a-f]{16})\b")
_TOLD = re.compile(r"incident ([0-9a-f]{16})$")


def causes(log: Path) -> dict[str, str]:
    """The exception of each incident, with its notes, on one line. An unreadable log has none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {
        found[1]: _exception(message)[:LONGEST_CAUSE]
        for message in _messages(lines)
        if (found := _LOGGED.match(message))
    }


def with_cause(reason: str, known: Mapping[str, str]) -> str:
    """The reason of a failure, with its cause where it ends in an incident that is known."""
    found = _TOLD.search(reason)
    cause = known.get(found[1]) if found else None
    return f"{reason}: {cause}" if cause else reason


def _messages(lines: list[str]) -> Iterator[str]:
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # output of something else
        if isinstance(record, dict):
            yield str(record.get("message", ""))


def _exception(message: str) -> str:
    """The last lines of a traceback, which follow those of its frames."""
    lines = message.splitlines()
    start = max((number for number, line in enumerate(lines, 1) if line.startswith(" ")), default=1)
    name, *rest = "; ".join(lines[start:]).split(": ", 1)
    return ": ".join([name.rpartition(".")[2], *rest])
