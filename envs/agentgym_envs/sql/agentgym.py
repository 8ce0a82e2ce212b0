"""AgentGym's environment of SQL, `sqlgym`: tables and a question, then one statement and its result.

> world = SQLGym()
> world.reset(world.task("train/easy/0"), seed=0).text
'CREATE TABLE expeditions (...)\\n...\\nQuestion: List the names of the expeditions whose language is Belmar.'
> world.step("SELECT name FROM expeditions WHERE language = 'Belmar'").reward
1.0

AgentGym's questions are those of BIRD; these are the questions of `sql`, executed and judged as there.
"""

from collections.abc import Sequence
from pathlib import Path

from agentgym_envs.core import Environment, Observation, StepResult
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.sql.environment import SQL
from agentgym_envs.sql.messages import statement_in
from agentgym_envs.sql.tasks import SQLTask
from agentgym_envs.tooluse.calls import written

OVER = "The episode is over."


class SQLGym(Environment[SQLTask]):
    """Answer a question by one statement, whose result is shown, and which ends the episode.

    `home` is where imported data are looked for, as for `sql`.
    """

    name = "sqlgym"
    max_turns = 1
    difficulties = SQL.difficulties

    def __init__(self, *, home: Path | None = None) -> None:
        self._sql = SQL(schema="opening", home=home)
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return self._sql.splits

    @property
    def data_version(self) -> str:
        return self._sql.data_version

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SQLTask]:
        tasks = self._sql.tasks(split, difficulty)
        return LazySequence(len(tasks), lambda place: _own(tasks[place]))

    def task(self, task_id: str) -> SQLTask:
        return _own(self._sql.task(task_id))

    def reset(self, task: SQLTask, seed: int) -> Observation:
        opened = self._sql.reset(self._sql.task(task.id), seed)
        self._is_over = False
        tables = [line for line in opened.text.splitlines() if line.startswith("CREATE TABLE ")]
        return Observation(text="\n".join([*tables, f"Question: {task.instruction}"]))

    def step(self, action: str) -> StepResult:
        if self._is_over:
            return StepResult(observation=Observation(text=OVER), terminated=True)
        self._is_over = True
        statement = statement_in(action) or action.strip()
        shown = SUBMITTED
        if not self._sql.task_now.writes:
            shown = self._sql.step(written("run_sql", sql=statement)).observation.text
        judged = self._sql.step(written("submit_sql", sql=statement))
        return StepResult(
            observation=Observation(text=shown),
            reward=judged.reward,
            terminated=True,
            info=judged.info if judged.terminated else {"invalid_action": True},
        )

    def expert(self, task: SQLTask) -> list[str]:
        return [task.gold]


SUBMITTED = "The statement is submitted."
"""Observation after a statement that changes rows: what it changes is judged, and not shown."""


def _own(task: SQLTask) -> SQLTask:
    return task.model_copy(update={"env": SQLGym.name})
