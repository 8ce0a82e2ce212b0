"""Trial of tasks for an import: their gold solution, and ending at once."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from agentgym_envs.core import StepResult
from agentgym_envs.tau.data.importing import Trial
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.tau.tasks import TauTask


def trial_of(environment: TauEnvironment[Any]) -> Callable[[TauTask], Trial]:
    """Function that plays a task; raises `KeyError` for a gold solution with an unknown tool."""

    def trial(task: TauTask) -> Trial:
        tools = environment.solo_tools_of(task.version)
        for action in task.gold:
            if action.name not in tools:
                raise KeyError(f"its gold solution calls the unknown tool {action.name!r}")
        solved = _played(environment, task, environment.expert(task) or [])
        idle = _played(environment, task, environment.giving_up(task))
        return Trial(solved, idle, environment.gold(task).failed)

    return trial


def _played(environment: TauEnvironment[Any], task: TauTask, actions: Sequence[str]) -> float:
    environment.reset(task, 0)
    return sum(cast("StepResult", environment.step(action)).reward for action in actions)
