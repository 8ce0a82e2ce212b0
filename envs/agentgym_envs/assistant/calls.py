"""Execution of a tool in a session: whole or not at all, noted in the session's log."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from agentgym_envs.assistant.session import Session
from agentgym_envs.tooluse import CallError, Tool, ToolError

UNAVAILABLE = "unavailable"
"""Beginning of the message of a call that fails in passing."""


def run_tool(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The result of a tool. Raises `CallError`; the office is then as before."""
    if session.failing:
        _fail_in_passing(session, tool.name)
    if tool.kind == "write":
        before = session.office.state
        try:
            result = _run(session, tool, arguments)
        except CallError:
            session.office.state = before
            raise
    else:
        result = _run(session, tool, arguments)
    session.called.append((tool.name, dict(arguments)))
    return result


def _run(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> Any:
    try:
        return tool.run(session, **arguments)
    except (OverflowError, sqlite3.Error) as cause:
        # SQLite's integers have 64 bits. For a statement that was used before, sqlite3 raises the last error
        # of the connection instead, such as that of a duplicate.
        if not isinstance(cause, OverflowError) and not isinstance(cause.__context__, OverflowError):
            raise
        raise ToolError("out_of_range: a number has more than 64 bits") from cause


def _fail_in_passing(session: Session, name: str) -> None:
    count = session.failures.get(name, 0)
    if count < session.failing.get(name, 0):
        session.failures[name] = count + 1
        raise ToolError(f"{UNAVAILABLE}: the service did not answer, try again")
