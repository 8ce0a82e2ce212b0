"""Data folder of imported data, indexes and caches."""

import os
from pathlib import Path

import platformdirs


def data_home() -> Path:
    """`$AGENTEVOL_HOME` if set, otherwise the platform's user data folder; it need not exist yet."""
    chosen = os.environ.get("AGENTEVOL_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_data_path("agentevol", appauthor=False)
