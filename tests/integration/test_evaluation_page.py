"""The example of the page of evaluations runs, and prints what the page shows."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentevol.cli import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text("utf-8")


@pytest.mark.slow
def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, players = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(players, "evaluation.md", "exec"), names)  # our own page, not somebody's input
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert [line for line in printed if f"    {line}\n" not in PAGE] == []
    exec(compile(reader, "evaluation.md", "exec"), names)
    goals = names["goals"](Path("9-steps.jsonl"))
    assert [(seat, round(goal, 2)) for seat, goal in goals.rows()] == [(0, 6.15), (1, 6.5)]
    shown = {tuple(line.split()) for line in PAGE.splitlines()}
    for arguments in (["9-steps.jsonl"], ["5-steps.jsonl", "9-steps.jsonl"]):
        told = CliRunner().invoke(app, ["compare", *arguments]).stdout.splitlines()
        rows = [
            tuple(line.split()) for line in told if line.strip().startswith(("goal", "financial", "reward"))
        ]
        assert len(rows) >= 2
        assert set(rows) <= shown
