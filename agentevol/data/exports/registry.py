"""Registry of all export formats: those of `agentgym_store.exports`, and those of this package."""

from agentgym_store.exports.registry import FORMATS

ALL_FORMATS: dict[str, str] = {
    **FORMATS,
    "preference": "agentevol.data.exports.preference:Preference",
    "sotopia": "agentevol.data.exports.sotopia:Sotopia",
    "unpaired": "agentevol.data.exports.unpaired:Unpaired",
}
"""Name to "module:Class" (`agentgym_store.exports.contract.ExportFormat`)."""
