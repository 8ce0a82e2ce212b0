"""Structured logs: one JSON object per line, on standard error.

    {"time": "2026-01-01T00:00:00.123Z", "level": "info", "logger": "agentgym_server.sessions.registry",
     "message": "session finished", "session": "s_...", "env": "alfworld", "outcome": "terminated", ...}

Facts of a message are members: `log.info("session finished", extra=about(session=...))`.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Literal

Level = Literal["debug", "info", "warning", "error"]


def about(**members: Any) -> dict[str, Any]:
    """The `extra` argument of a log call."""
    return {"members": members}


class JsonFormatter(logging.Formatter):
    """Formatter of a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "members", {}),
        }
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, default=str)


def configure(level: Level) -> None:
    """Send records from `level` on to standard error, replacing earlier configuration."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # for libraries
    logging.getLogger("agentgym_server").setLevel(level.upper())
