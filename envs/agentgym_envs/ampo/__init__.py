"""One reply to a dialogue: the states of AMPO's reinforcement learning (arXiv:2505.02156), and its data sets.

> world = Ampo()
> task = world.task("train/secrets/1/0")
> print(world.reset(task, seed=0).text)
> world.step("I would rather not say.").reward
0.5
"""

from agentgym_envs.ampo.environment import Ampo, AmpoTask

__all__ = ["Ampo", "AmpoTask"]
