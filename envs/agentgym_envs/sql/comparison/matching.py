"""Match of a prediction's result with what a gold allows."""

from agentgym_envs.sql.comparison.expectation import Expected
from agentgym_envs.sql.comparison.values import same_rows
from agentgym_envs.sql.executor.results import Result


def matches(result: Result, expected: Expected) -> bool:
    """True if a result is one that the gold allows: never one that ended with an error or at a limit."""
    if result.status != "ok" or len(result.columns) != expected.columns:
        return False
    if len(result.rows) != expected.length:
        return False
    start = 0
    for group in expected.groups:
        if not same_rows(result.rows[start : start + group.taken], group.rows):
            return False
        start += group.taken
    return True
