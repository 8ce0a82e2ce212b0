"""The office of an episode: a SQLite database, copied on write, and the net change of an episode.

Names for other packages: `Image`, `NetChange`, `Office`, `Statement`.
"""

from agentgym_envs.assistant.database.changes import NetChange
from agentgym_envs.assistant.database.image import Image, Statement
from agentgym_envs.assistant.database.office import Office

__all__ = ["Image", "NetChange", "Office", "Statement"]
