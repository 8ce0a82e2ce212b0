"""Tools of retail: 16 in each version of the benchmark.

Names for other packages: `TAU1_TOOLS`, `TAU2_TOOLS`.
"""

from agentgym_envs.tau.desk.tools import TRANSFER_ENDS, calculate, think, transfer_to_human_agents
from agentgym_envs.tau.retail.tools import delivered, lookups, pending
from agentgym_envs.tooluse import Toolset

_BOTH = (*lookups.READS, *pending.WRITES, *delivered.WRITES, calculate)

TAU1_TOOLS = Toolset([*_BOTH, think, TRANSFER_ENDS])
TAU2_TOOLS = Toolset([*_BOTH, lookups.get_item_details, transfer_to_human_agents])

__all__ = ["TAU1_TOOLS", "TAU2_TOOLS"]
