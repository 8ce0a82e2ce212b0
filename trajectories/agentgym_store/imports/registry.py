"""Registry of importers, and detection of a file's format by its first record."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from agentgym_store.errors import StoreError
from agentgym_store.imports.contract import Importer
from agentgym_store.imports.reading import first_record

AUTO = "auto"

IMPORTERS: dict[str, str] = {
    "jsonl": "agentgym_store.imports.jsonl:JsonLines",
    "parquet": "agentgym_store.imports.parquet:Parquet",
    "agenttraj": "agentgym_store.imports.agenttraj:AgentTraj",
    "sharegpt": "agentgym_store.imports.sharegpt:ShareGPT",
    "openai": "agentgym_store.imports.openai:OpenAI",
    "react": "agentgym_store.imports.react:React",
    "webshop": "agentgym_store.imports.webshop:WebShopSessions",
}
"""Name to "module:Class"; the first one that recognises a record reads it."""


def importer(name: str, importers: Mapping[str, str] = IMPORTERS) -> Importer:
    """The importer of a format. Raises `StoreError` for an unknown name."""
    if name not in importers:
        raise StoreError(f"no import format is named {name!r}; there are: {', '.join(importers)}")
    module, _, attribute = importers[name].partition(":")
    return getattr(import_module(module), attribute)()


def detected(path: Path, importers: Mapping[str, str] = IMPORTERS) -> Importer:
    """The importer that recognises the first record of a file. Raises `StoreError` where none does."""
    record = first_record(path)
    if record is None:
        raise StoreError(f"{path} holds no record")
    for name in importers:
        found = importer(name, importers)
        if found.recognises(record):
            return found
    raise StoreError(
        f"{path}: the first record is in no known format; name its format, one of: {', '.join(importers)}"
    )
