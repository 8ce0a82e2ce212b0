"""Where the expected values and the data of the real systems lie; without them golden tests are skipped."""

import os
from pathlib import Path

import pytest


def _shared() -> Path | None:
    chosen = os.environ.get("AGENTEVOL_SHARED")
    folder = Path(chosen) if chosen else Path(__file__).parents[2].parent / "shared"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with `golden/` and `data/`: `$AGENTEVOL_SHARED`, or `shared` beside the repository."""
    folder = _shared()
    if folder is None:
        pytest.skip("no golden data: set AGENTEVOL_SHARED to the folder that holds golden/ and data/")
    return folder


@pytest.fixture(scope="session")
def shared_data(shared: Path) -> Path:
    """`data/` of the shared folder; if `$AGENTEVOL_SHARED` has only `golden/`, that beside the repository."""
    for folder in (shared / "data", Path(__file__).parents[2].parent / "shared" / "data"):
        if folder.is_dir():
            return folder
    pytest.skip(f"no data beside the golden files in {shared}")
