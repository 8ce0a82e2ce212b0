"""A counter that changes several times, and modes of thinking: answer at once, or note digits first.

> world = Deliberate(expert_mode=2)
> task = world.task("test/medium/2")
> world.reset(task, seed=0).text
'Counter 0 plus 3 times 3 times 7 plus 1 wait 2 wait 8 wait 3 wait 5 wait 8 wait 6'
> world.expert(task)
['Level 2 Intent 3 Style 9 Response 3 Answer 4']
> world.step(world.expert(task)[0]).reward
1.0
"""

from agentgym_envs.deliberate.environment import Deliberate, DeliberateTask

__all__ = ["Deliberate", "DeliberateTask"]
