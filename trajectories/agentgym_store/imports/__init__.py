"""Imports of episodes from foreign data sets: a module for each format, and `writing`, which fills the table.

report = import_files([Path("webshop.json")], Path("demonstrations"), Supplied(env="webshop", reward=1.0))
print(report.imported, report.dropped)

The names are imported when they are used.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_store.imports.contract import Draft, DraftTurn, Importer
    from agentgym_store.imports.reading import Refusal
    from agentgym_store.imports.registry import IMPORTERS, importer
    from agentgym_store.imports.writing.drafts import Supplied
    from agentgym_store.imports.writing.files import ImportReport, import_files
    from agentgym_store.imports.writing.replay import Replayer
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "IMPORTERS": "agentgym_store.imports.registry:IMPORTERS",
            "Draft": "agentgym_store.imports.contract:Draft",
            "DraftTurn": "agentgym_store.imports.contract:DraftTurn",
            "ImportReport": "agentgym_store.imports.writing.files:ImportReport",
            "Importer": "agentgym_store.imports.contract:Importer",
            "Refusal": "agentgym_store.imports.reading:Refusal",
            "Replayer": "agentgym_store.imports.writing.replay:Replayer",
            "Supplied": "agentgym_store.imports.writing.drafts:Supplied",
            "import_files": "agentgym_store.imports.writing.files:import_files",
            "importer": "agentgym_store.imports.registry:importer",
        },
        extra="store",
    )

__all__ = [
    "IMPORTERS",
    "Draft",
    "DraftTurn",
    "ImportReport",
    "Importer",
    "Refusal",
    "Replayer",
    "Supplied",
    "import_files",
    "importer",
]
