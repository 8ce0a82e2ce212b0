"""Wordle: find a word by the marks of its letters, with a word list of its own.

> world = Wordle()
> world.reset(world.task("test/5/0"), seed=0).text
"Let's start Wordle!"
> world.step("s l a t e").observation.text
'b b y b g'
"""

from agentgym_envs.wordle.environment import Wordle, WordleTask

__all__ = ["Wordle", "WordleTask"]
