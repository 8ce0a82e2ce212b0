"""Environments for language-model agents, and the contract that they keep.

    world = make("guess")
    observation = world.reset(world.task("guess-5"), seed=0)
    result = world.step("4")  # a StepResult with its observation, "Go higher than 4."

The public names are imported when they are used, so that a worker process loads only what it plays.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
    from agentgym_envs.registry import EnvironmentUnavailable, UnknownEnvironment, make, names
    from agentgym_envs.testing import check_environment
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "Environment": "agentgym_envs.core:Environment",
            "EnvironmentUnavailable": "agentgym_envs.registry:EnvironmentUnavailable",
            "Observation": "agentgym_envs.core:Observation",
            "StepResult": "agentgym_envs.core:StepResult",
            "Task": "agentgym_envs.core:Task",
            "TaskNotFound": "agentgym_envs.core:TaskNotFound",
            "UnknownEnvironment": "agentgym_envs.registry:UnknownEnvironment",
            "check_environment": "agentgym_envs.testing:check_environment",
            "make": "agentgym_envs.registry:make",
            "names": "agentgym_envs.registry:names",
        },
    )

__all__ = [
    "Environment",
    "EnvironmentUnavailable",
    "Observation",
    "StepResult",
    "Task",
    "TaskNotFound",
    "UnknownEnvironment",
    "check_environment",
    "make",
    "names",
]
