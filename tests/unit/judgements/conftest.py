"""Endpoints are asked again at once, and nothing is imported."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_pauses_and_no_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("agentgym_envs.endpoints.retries.FIRST_PAUSE_S", 0.0)
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
