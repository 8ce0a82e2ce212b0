"""BabyAI: instructions in a grid world, told and played in text, over the package `minigrid`.

> world = BabyAI()
> world.reset(world.task("test/GoToLocalS8N7/2000025"), seed=0).text
'Your goal: go to the red key\nIn front of you in this room, you can see several objects: ...'
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.babyai.environment import BabyAI, BabyAITask
else:  # minigrid is an extra, and brings pygame
    __getattr__, __dir__ = lazy_names(
        __name__,
        {name: f"agentgym_envs.babyai.environment:{name}" for name in ("BabyAI", "BabyAITask")},
        extra="babyai",
    )

__all__ = ["BabyAI", "BabyAITask"]
