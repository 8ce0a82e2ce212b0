"""ScienceWorld: experiments of a school's science lessons in text, by the package `scienceworld` and Java.

> world = ScienceWorld()
> world.reset(world.task("test/1-1/21"), seed=0).text
'Your task is to boil lead. ...\nThis room is called the bathroom. ...'
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.sciworld.environment import ScienceWorld, ScienceWorldTask
else:  # scienceworld is an extra, and the table of games needs neither it nor Java
    __getattr__, __dir__ = lazy_names(
        __name__,
        {name: f"agentgym_envs.sciworld.environment:{name}" for name in ("ScienceWorld", "ScienceWorldTask")},
        extra="sciworld",
    )

__all__ = ["ScienceWorld", "ScienceWorldTask"]
