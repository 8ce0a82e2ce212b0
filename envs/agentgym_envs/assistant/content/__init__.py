"""Generated content of offices: people, events, mail, projects, files, orders, sheets.

Names for other packages: `generated`, `split_of`, `NOW`, `OWNER`.
"""

from agentgym_envs.assistant.clock import NOW
from agentgym_envs.assistant.content.names import split_of
from agentgym_envs.assistant.content.offices import OWNER, generated

__all__ = ["NOW", "OWNER", "generated", "split_of"]
