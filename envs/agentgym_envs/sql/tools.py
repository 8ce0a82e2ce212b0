"""Tools of the environment, and the state that they share."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.executor.limits import MAX_SQL_LENGTH
from agentgym_envs.sql.executor.pool import borrowed
from agentgym_envs.sql.executor.rendering import rendered, shown
from agentgym_envs.tooluse import ToolError, Toolset, tool
from agentgym_envs.tooluse.errors import CallError

SAMPLE_ROWS = 3

Name = Annotated[str, Field(max_length=200)]
Statement = Annotated[str, Field(min_length=1, max_length=MAX_SQL_LENGTH)]


@dataclass
class Desk:
    """State of an episode: what the agent queries, and what it has submitted."""

    source: Source
    queries_left: int
    submitted: str | None = None

    @property
    def database(self) -> Database:
        """The database that the agent queries."""
        return borrowed(self.source)

    def ddl(self, table: str) -> str:
        """The statement that created a table, on one line."""
        rows = self.database.run("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')").rows
        return next(shown(" ".join(str(sql).split())) for name, sql in rows if name == table)


@tool("read")
def list_tables(desk: Desk) -> list[str]:
    """List the tables of the database."""
    return list(desk.database.tables)


@tool("read")
def describe_table(desk: Desk, table: Name) -> str:
    """Show the statement that created a table, and its first three rows.

    Args:
        table: Name of the table.
    """
    tables = desk.database.tables
    name = next((one for one in tables if one.lower() == table.strip().lower()), None)
    if name is None:
        raise ToolError(
            f"not_found: there is no table {table!r}; there are: {', '.join(tables)}",
            argument="table",
            expected=list(tables),
        )
    quoted = name.replace('"', '""')
    rows = desk.database.run(f'SELECT * FROM "{quoted}" LIMIT {SAMPLE_ROWS}')
    return f"{desk.ddl(name)}\n{rendered(rows)}"


@tool("read")
def run_sql(desk: Desk, sql: Statement) -> str:
    """Run a query on the database and show the first rows of its result.

    Args:
        sql: One SELECT statement in the dialect of SQLite.
    """
    if not desk.queries_left:
        raise CallError("limit", "no queries are left; submit_sql ends the episode")
    desk.queries_left -= 1
    result = desk.database.run(sql)
    if result.status in ("ok", "too_many_rows"):
        return rendered(result)
    return f"{result.status}: {result.message}"


@tool("control")
def submit_sql(desk: Desk, sql: Statement) -> str:
    """Submit the statement that answers the question, and end the episode.

    Args:
        sql: One statement in the dialect of SQLite.
    """
    desk.submitted = sql
    return "submitted"


TOOLS = Toolset([list_tables, describe_table, run_sql, submit_sql])
