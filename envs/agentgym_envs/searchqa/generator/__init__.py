"""Generator of linked facts about invented people, towns, countries, companies and books, and of questions.

Names are those of `agentgym_envs.knowledge.names`: each split has its own, so that nothing can be known by
heart, and no fact of one split helps in another.
"""

from agentgym_envs.searchqa.generator.chains import COUNTS, HOPS, Chain, chains
from agentgym_envs.searchqa.generator.world import World, world

__all__ = ["COUNTS", "HOPS", "VERSION", "Chain", "World", "chains", "world"]

VERSION = 1
"""Changes with each change of the generated facts or questions."""
