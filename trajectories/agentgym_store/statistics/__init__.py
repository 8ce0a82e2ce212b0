"""Statistics over a table's episodes: counts and means, in bounded memory.

explored = Where(purpose="explore")
summary = statistics(store.scan(explored), store.turns(MODE_COLUMNS, explored))
summary.by["iteration"]["3"].success_rate      # -> 0.41
summary.by["turns"]["5 to 8"].episodes         # -> 12
summary.modes["2"].share                       # -> 0.3
summary.total.endings                          # -> {"terminated": 70, "truncated": 29, "failed": 1}
"""

from agentgym_store.statistics.episodes import BREAKDOWNS, Group, Statistics, statistics
from agentgym_store.statistics.modes import MODE_COLUMNS, ModeGroup

__all__ = ["BREAKDOWNS", "MODE_COLUMNS", "Group", "ModeGroup", "Statistics", "statistics"]
