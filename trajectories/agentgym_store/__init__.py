"""Trajectories as data: records of episodes, the table that holds them, exports and imports.

    store = Store.open("runs/first/trajectories", create=False)
    won = [t for t in store.trajectories(Where(iteration=3)) if t.succeeded()]

The public names are imported when they are used: records need neither polars nor Delta Lake.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_store.errors import StoreError
    from agentgym_store.jsonl import export_jsonl, import_jsonl
    from agentgym_store.records import Cancelled, Failed, Sample, Terminated, Trajectory, Truncated, Turn
    from agentgym_store.store import Store, Where
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "Cancelled": "agentgym_store.records:Cancelled",
            "Failed": "agentgym_store.records:Failed",
            "Sample": "agentgym_store.records:Sample",
            "Store": "agentgym_store.store:Store",
            "StoreError": "agentgym_store.errors:StoreError",
            "Terminated": "agentgym_store.records:Terminated",
            "Trajectory": "agentgym_store.records:Trajectory",
            "Truncated": "agentgym_store.records:Truncated",
            "Turn": "agentgym_store.records:Turn",
            "Where": "agentgym_store.store:Where",
            "export_jsonl": "agentgym_store.jsonl:export_jsonl",
            "import_jsonl": "agentgym_store.jsonl:import_jsonl",
        },
        extra="store",
    )

__all__ = [
    "Cancelled",
    "Failed",
    "Sample",
    "Store",
    "StoreError",
    "Terminated",
    "Trajectory",
    "Truncated",
    "Turn",
    "Where",
    "export_jsonl",
    "import_jsonl",
]
