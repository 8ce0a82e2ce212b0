"""The table of the scripted user's tasks."""

from pathlib import Path

import pytest

from benchmarks.tau import main


def test_the_tasks_of_the_scripted_user_are_counted_by_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path))
    main(["--scripted"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| environment | split | tasks | text | rehearsal | both | s |"
    counted = [row.strip("| ").split(" | ")[:6] for row in rows]
    assert [row[:2] for row in counted] == [
        [name, split] for name in ("tau-retail", "tau-airline") for split in ("train", "valid", "test")
    ]
    assert all(len(set(row[2:])) == 1 for row in counted)
