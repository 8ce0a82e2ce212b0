"""Fixture of runs without processes."""

import pytest
from support.runs import list_tasks


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen tasks in every split."""
    monkeypatch.setattr("agentevol.loop.state.episodes.list_tasks", list_tasks)
