"""Registry of export formats: `FORMATS`, and those that a caller adds.

> export_format("sft", {"rows": "turn"}).suffix
.jsonl
"""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from agentgym_store.errors import StoreError
from agentgym_store.exports.contract import ExportFormat

FORMATS: dict[str, str] = {
    "agenttraj": "agentgym_store.exports.agenttraj:AgentTraj",
    "jsonl": "agentgym_store.exports.jsonl:JsonLines",
    "parquet": "agentgym_store.exports.parquet:Parquet",
    "prompts": "agentgym_store.exports.prompts:Prompts",
    "sft": "agentgym_store.exports.sft:SFT",
    "sharegpt": "agentgym_store.exports.sharegpt:ShareGPT",
}
"""Name to "module:Class"; a format is imported when it is used."""


def format_class(name: str, formats: Mapping[str, str] = FORMATS) -> type[ExportFormat]:
    """The class of a format. Raises `StoreError` for an unknown name."""
    if name not in formats:
        raise StoreError(f"no export format is named {name!r}; there are: {', '.join(sorted(formats))}")
    module, _, attribute = formats[name].partition(":")
    return getattr(import_module(module), attribute)


def export_format(
    name: str, options: Mapping[str, Any] | None = None, formats: Mapping[str, str] = FORMATS
) -> ExportFormat:
    """A format with options. Raises `StoreError` for an unknown name, and for an option without effect."""
    found = format_class(name, formats)
    given = dict(options or {})
    known = [parameter.name for parameter in signature(found).parameters.values()]
    if unknown := sorted(set(given) - set(known)):
        has = f"its options: {', '.join(known)}" if known else "it has no options"
        verb = "has" if len(unknown) == 1 else "have"
        raise StoreError(f"{', '.join(unknown)} {verb} no effect on format {name}; {has}")
    return found(**given)
