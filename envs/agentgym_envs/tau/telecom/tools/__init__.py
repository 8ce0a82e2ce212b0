"""Tools of telecom: 13 of the agent, 30 of the phone, and the end of an episode without a user.

Names for other packages: `AGENT_TOOLS`, `PHONE_TOOLS`, `SOLO_TOOLS`, `status_bar`.
"""

from agentgym_envs.tau.telecom.tools import agent, lines, phone_reads, phone_writes
from agentgym_envs.tau.telecom.tools.phone_reads import status_bar
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tooluse import Toolset, tool


@tool("control")
def done(world: TelecomWorld) -> str:  # noqa: ARG001 - a tool's state
    """End the work on the ticket: it is resolved, or handed over."""
    return "Done."


AGENT_TOOLS = Toolset([*agent.READS, *lines.WRITES, agent.transfer_to_human_agents])
PHONE_TOOLS = Toolset([*phone_reads.READS, *phone_writes.WRITES])
SOLO_TOOLS = Toolset([*AGENT_TOOLS.values(), *PHONE_TOOLS.values(), done])

__all__ = ["AGENT_TOOLS", "PHONE_TOOLS", "SOLO_TOOLS", "status_bar"]
