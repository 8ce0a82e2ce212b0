"""Text-to-SQL as an `Environment`: generated questions of five levels, and imported ones.

> world = SQL()
> task = world.tasks("test", "easy")[0]
> world.reset(task, seed=0).text
'The database has the tables smiths, foundries, ... Find the query that answers the question.'
> world.step('{"name": "run_sql", "arguments": {"sql": "SELECT count(*) FROM acrobats"}}').observation.text
'count(*)\\n14'
> world.step("```sql\\nSELECT name FROM acrobats WHERE experience >= 6\\n```").reward
1.0

The reward is 1 if the submitted query has the results that the gold allows, on the database and on variants
of it that the agent does not see; for a task that writes, if it makes the same net change on all of them.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from agentgym_envs.home import data_home
from agentgym_envs.sql import player
from agentgym_envs.sql.comparison.expectation import Expected, expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.executor.pool import borrowed
from agentgym_envs.sql.executor.results import Status
from agentgym_envs.sql.executor.rules import READING, WRITING
from agentgym_envs.sql.generator.batches import VERSION
from agentgym_envs.sql.imported.library import Library
from agentgym_envs.sql.messages import statement_in
from agentgym_envs.sql.tasks import DIFFICULTIES, Catalogue, SQLTask
from agentgym_envs.sql.tools import TOOLS, Desk
from agentgym_envs.sql.variants.resampling import VERSION as VARIANTS_VERSION
from agentgym_envs.sql.writing.changes import Change, net_change, same_change
from agentgym_envs.tooluse import SUCCESS, ToolEnvironment, ToolsInOption, Verdict

QUERIES = 10
"""Queries that an agent may run in an episode."""

SchemaIn = Literal["tools", "opening"]
SCHEMA_IN = (
    "Where the agent reads the tables' definitions: `tools`, or also in the `opening` observation, for"
    " episodes of one step."
)


@dataclass(frozen=True)
class _Snapshot:
    task: SQLTask
    turns: int
    over: bool
    state: Desk


class SQL(ToolEnvironment[SQLTask, Desk]):
    """Write the query that answers a question about a database.

    `home` is where imported data are looked for (None: `agentgym_envs.home.data_home`).
    """

    name = "sql"
    max_turns = 20
    forkable = True
    difficulties = DIFFICULTIES
    toolset = TOOLS

    def __init__(
        self,
        schema: Annotated[SchemaIn, Field(description=SCHEMA_IN)] = "tools",
        *,
        tools_in: ToolsInOption = "schemas",
        home: Path | None = None,
    ) -> None:
        if schema not in get_args(SchemaIn):
            raise ValueError(f"no schema {schema!r}; there are: {', '.join(get_args(SchemaIn))}")
        self.schema: SchemaIn = schema
        self.tell_tools_in(tools_in)
        self._catalogue = Catalogue(Library.open(home or data_home()))

    @property
    def splits(self) -> tuple[str, ...]:
        return self._catalogue.splits

    @property
    def data_version(self) -> str:
        generated, library = f"generated:{VERSION}.{VARIANTS_VERSION}", self._catalogue.library
        return f"{generated}+imported:{library.manifest.digest}" if library else generated

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SQLTask]:
        """As in `Environment`; without a difficulty, levels take turns."""
        return self._catalogue.tasks(split, difficulty)

    def task(self, task_id: str) -> SQLTask:
        return self._catalogue.task(task_id)

    def begin(self, task: SQLTask, seed: int) -> Desk:
        return Desk(self._catalogue.judges(task).base, QUERIES)

    def opening(self, task: SQLTask) -> str:
        tables = self.state.database.tables
        asked = "statement that makes the change" if task.writes else "query that answers the question"
        text = f"The database has the tables {', '.join(tables)}. Find the {asked}."
        ddl = [self.state.ddl(table) for table in tables if self.schema == "opening"]
        return "\n".join([text, *ddl, "", task.instruction])

    def hear(self, message: str) -> str | None:
        """A fenced block of SQL, or a bare statement, is submitted."""
        sql = statement_in(message, WRITING if self.task_now.writes else READING)
        if sql is None:
            return None
        self.state.submitted, self.over = sql, True
        return "submitted"

    def rendered(self, value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def verdict(self, task: SQLTask, state: Desk) -> Verdict:
        """Success if the submitted query matches on all databases that count."""
        sql, judge = state.submitted or "", _judged_change if task.writes else _judged_query
        status = ""
        for source in self._catalogue.judges(task).counting:
            found, right = judge(source, sql, task.gold)
            status = status or found  # that of the database which the agent knows: it is the first
            if not right:
                return Verdict(0.0, "wrong_state" if task.writes else "wrong_answer", {"execution": status})
        return SUCCESS

    def net_change(self) -> object:
        return self.state.submitted

    def expert(self, task: SQLTask) -> list[str]:
        return player.solve(task.gold, writes=task.writes)

    def demonstrate(self, task: SQLTask, seed: int, care: float = 1.0) -> list[str]:
        """Tool calls of `agentgym_envs.sql.player.play`."""
        tables = borrowed(self._catalogue.judges(task).base).tables
        return player.play(task.gold, tables, random.Random(f"{task.id}/{seed}"), care)

    def snapshot(self) -> object:
        return _Snapshot(self.task_now, self.turns, self.over, replace(self.state))

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of sql: {type(snapshot).__name__}")
        self.task_now, self.offered = snapshot.task, self.offered_to(snapshot.task)
        self.turns, self.over = snapshot.turns, snapshot.over
        self.turns_allowed = self.budget(snapshot.task)
        self.state = replace(snapshot.state)


def _judged_query(source: Source, sql: str, gold: str) -> tuple[Status, bool]:
    """Status of a query, and whether its result is one that the gold allows."""
    result = borrowed(source).run(sql)
    return result.status, matches(result, _expected(source, gold))


def _judged_change(source: Source, sql: str, gold: str) -> tuple[Status, bool]:
    """Status of a statement, and whether its net change is that of the gold."""
    change = net_change(source, sql)
    return change.status, same_change(change, _gold_change(source, gold))


@lru_cache(maxsize=1024)
def _expected(source: Source, gold: str) -> Expected:
    """Results that a gold allows; they depend on the content only."""
    return expected(borrowed(source), gold)


@lru_cache(maxsize=1024)
def _gold_change(source: Source, gold: str) -> Change:
    return net_change(source, gold)
