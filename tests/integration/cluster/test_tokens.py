"""Whether a machine shares the run's folder with the driver; `test_checkpoint_store` has the object store."""

import os
from pathlib import Path

import pytest

from agentevol.cluster.processes.shared_storage import InFolder, token_in


def test_a_machine_that_finds_the_token_and_may_write_shares_the_folder(tmp_path: Path):
    with token_in(tmp_path) as token:
        assert token.unseen() == ""
    assert list(tmp_path.iterdir()) == []


def test_a_machine_with_another_folder_at_that_path_does_not(tmp_path: Path):
    with token_in(tmp_path) as token:
        assert isinstance(token, InFolder)
        token.file.write_text("of another run")
        assert token.unseen().startswith("cannot see the run's folder: put --out on a file system")
        token.file.unlink()
        assert token.unseen().startswith("cannot see the run's folder: put --out on a file system")


def test_a_machine_that_may_only_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with token_in(tmp_path) as token:
        assert token.unseen() == "may not write into the run's folder: learners write there"
