"""TextCraft: craft an item from recipes, as AgentGym's environment describes it, with recipes of its own.

> world = TextCraft()
> print(world.reset(world.task("alder_rod"), seed=0).text)
Crafting commands:
...
Goal: craft alder rod.
> world.step("get 1 alder log").observation.text
'Got 1 alder log'
"""

from agentgym_envs.textcraft.environment import TextCraft, TextCraftTask

__all__ = ["TextCraft", "TextCraftTask"]
