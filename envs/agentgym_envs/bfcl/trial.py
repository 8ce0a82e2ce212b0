"""Trial of tasks for an import: their solutions are played on the classes of the benchmark's wheel."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from agentgym_envs.bfcl.documents import Documents
from agentgym_envs.bfcl.environment import BFCL, task_of
from agentgym_envs.bfcl.library import Row
from agentgym_envs.core import StepResult

MAX_REASON = 200
FAILED = "Error during execution"
"""Beginning of the result of a function that raised."""


class Trial(NamedTuple):
    """Outcome of the solution of a task."""

    fault: str
    """Reason for which the task cannot be won by its solution; '' if it can be."""
    error: str = ""
    """The first of its calls whose result is an error, and that result; '' if there is none."""


class _Stage(BFCL):
    """Environment of tasks that are not imported yet."""

    def __init__(self, documents: Documents, home: Path) -> None:
        super().__init__(home=home)
        self._imported = documents


def trial_of(documents: Documents, home: Path) -> Callable[[Row, str], Trial]:
    """Function that plays the task of a row and category; `home` is a folder without imported tasks."""
    environment = _Stage(documents, home)

    def trial(row: Row, category: str) -> Trial:
        task = task_of(row.id, row.dialogue, category)
        try:
            environment.reset(task, 0)
            played = [(action, environment.step(action)) for action in environment.expert(task)]
        except Exception as cause:  # noqa: BLE001 - the classes raise anything on data that they do not expect
            return Trial(f"it cannot be played: {type(cause).__name__}: {cause}"[:MAX_REASON])
        reward, outcome = played[-1][1].reward, played[-1][1].info.get("outcome", "no end")
        fault = "" if reward == 1.0 else f"its solution earns {reward:g}: {outcome}"
        return Trial(fault, next((error for one in played for error in _errors(*one)), ""))

    return trial


def _errors(action: str, result: StepResult) -> Iterator[str]:
    for line in result.observation.text.splitlines():
        if line.startswith(FAILED) or _is_error(line):
            yield f"{action[:MAX_REASON]} has the result {line[:MAX_REASON]}"


def _is_error(line: str) -> bool:
    if not line.startswith('{"error"'):
        return False
    try:
        return list(json.loads(line)) == ["error"]
    except ValueError:
        return False
