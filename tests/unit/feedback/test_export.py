"""The export of pairs that people made."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from support.ui import episode, make_run, turn

from agentevol.cli.trajectories.export import export
from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import feedback
from agentgym_store.feedback.table import FeedbackTable

PREFERRED = {"kind": "comparison", "other": "b", "verdict": "worse"}
LOOK = {"kind": "correction", "action": "look"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    played = [
        episode("a"),
        episode("b", turns=(turn("go back", reward=1.0),)),
        episode("c", task_id="other", split="test"),
    ]
    return make_run(tmp_path / "first", played)


def say(run: Path, *opinions: dict[str, Any]) -> None:
    records = [feedback({"source": "human:Anna", **one}) for one in opinions]
    FeedbackTable.beside(run / "trajectories").append(records)


def rows(run: Path, **options: Any) -> list[dict[str, Any]]:
    out = run.parent / "pairs.jsonl"
    export(str(run), out, format="preference", feedback=True, **options)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_correction_is_a_pair_of_messages(run: Path) -> None:
    say(run, {"trajectory_id": "a", "turn": 1, "opinion": LOOK})
    say(run, {"trajectory_id": "c", "turn": 0, "opinion": LOOK})  # held out
    (row,) = rows(run)
    assert [one["content"] for one in row["prompt"]][1:] == ["Thought: on. Action: go 0", "Door 0."]
    assert row["chosen"] == [{"role": "assistant", "content": "look"}]
    assert row["rejected"] == [{"role": "assistant", "content": "Thought: on. Action: go 1"}]
    assert (row["meta"]["chosen"], row["meta"]["shared_turns"]) == ("a", 1)


def test_a_preference_is_a_pair_of_episodes(run: Path) -> None:
    say(run, {"trajectory_id": "a", "opinion": PREFERRED})
    (row,) = rows(run, rows="episode")
    assert (row["meta"]["chosen"], row["meta"]["rejected"]) == ("b", "a")


def test_options_of_outcomes_have_no_effect(run: Path) -> None:
    with pytest.raises(typer.BadParameter, match="--per-task has no effect"):
        rows(run, per_task=2)
    with pytest.raises(StoreError, match="feedback has no effect on format sft"):
        export(str(run), run.parent / "x.jsonl", format="sft", feedback=True)
