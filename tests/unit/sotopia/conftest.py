"""The invented profiles, imported."""

from pathlib import Path

import pytest
from support.sotopia_profiles import write_profiles

from agentgym_envs.sotopia.data.importing import import_official


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the invented profiles."""
    folder = tmp_path_factory.mktemp("sotopia")
    import_official(write_profiles(folder / "source"), folder / "home")
    return folder / "home"
