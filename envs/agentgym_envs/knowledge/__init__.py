"""Knowledge: generated read-only facts about weather, films and papers, in SQLite databases in memory.

> rows = knowledge.connection("train", 0).execute("SELECT name, country_code FROM city LIMIT 1").fetchall()
> knowledge.names.split_of(rows[0][0])
'train'

A world is named by a split and a number, and equal names mean equal rows. All names of people, places, films,
companies, venues and papers are invented, and each invented word belongs to one split.

Names for other packages: `NOW`, `SPLITS`, `VERSION`, `connection`, `fill`, `split_of`.
"""

from agentgym_envs.knowledge.names import SPLITS, split_of
from agentgym_envs.knowledge.store import connection
from agentgym_envs.knowledge.tables import NOW, VERSION
from agentgym_envs.knowledge.world import fill

__all__ = ["NOW", "SPLITS", "VERSION", "connection", "fill", "split_of"]
