"""Exports of episodes to data sets: a module for each format, and `writing`, which all of them share.

    wins = Selection(Where(purpose="explore", min_reward=1))
    export(store, export_format("sft"), Path("wins"), selection=wins, plan=Plan(valid=0.1, shards=4))

The names are imported when they are used.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_store.exports.contract import Exported, ExportFormat, Tally
    from agentgym_store.exports.registry import FORMATS, export_format
    from agentgym_store.exports.writing.export import Report, export
    from agentgym_store.exports.writing.plan import Plan
    from agentgym_store.exports.writing.selection import Selection
    from agentgym_store.exports.writing.sources import Source
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "FORMATS": "agentgym_store.exports.registry:FORMATS",
            "ExportFormat": "agentgym_store.exports.contract:ExportFormat",
            "Exported": "agentgym_store.exports.contract:Exported",
            "Plan": "agentgym_store.exports.writing.plan:Plan",
            "Report": "agentgym_store.exports.writing.export:Report",
            "Selection": "agentgym_store.exports.writing.selection:Selection",
            "Source": "agentgym_store.exports.writing.sources:Source",
            "Tally": "agentgym_store.exports.contract:Tally",
            "export": "agentgym_store.exports.writing.export:export",
            "export_format": "agentgym_store.exports.registry:export_format",
        },
        extra="store",
    )

__all__ = [
    "FORMATS",
    "ExportFormat",
    "Exported",
    "Plan",
    "Report",
    "Selection",
    "Source",
    "Tally",
    "export",
    "export_format",
]
