"""Commands that the page of feedback has for what was said."""

from pathlib import Path
from typing import Any

import pytest
from support.ui import episode, episodes, make_run

from agentevol.ui.feedback.lessons import Lessons, lessons
from agentevol.ui.library import Library
from agentgym_store.feedback.records import Feedback, feedback
from agentgym_store.store import Store

SCORE = {"kind": "score", "value": 4, "low": 1, "high": 5}
CORRECTION = {"kind": "correction", "action": "look"}
BETTER = {"kind": "comparison", "other": "b", "verdict": "better"}


def said(opinion: dict[str, Any], source: str = "human:Ann", turn: int | None = None) -> Feedback:
    if opinion["kind"] == "correction":
        turn = 1
    return feedback({"trajectory_id": "a", "source": source, "opinion": opinion, "turn": turn})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "runs" / "first", episodes())


def of(place: Path, *opinions: Feedback) -> Lessons:
    return lessons(Library([place.parent]).sources()[0], opinions)


def test_each_kind_of_opinion_has_the_algorithms_that_learn_from_it(run: Path) -> None:
    found = of(run, said(SCORE), said(CORRECTION), said(CORRECTION, "human:Bob"), said(BETTER))
    assert [(one.algorithm, one.counts) for one in found.taught] == [
        ("dpo", "2 corrections and 1 comparison"),
        ("sft", "2 corrections"),
        ("kto", "1 rating"),
    ]
    assert found.taught[2].command == (
        f"agentevol train {run} algorithm=kto feedback=human base=starter:guess --out better-kto"
    )


@pytest.mark.parametrize(
    "opinion",
    [
        said({"kind": "flag", "reason": "broken"}),
        said(BETTER | {"verdict": "tie"}),
        said(SCORE, turn=0),
        said(SCORE, "judge:m"),
    ],
)
def test_what_teaches_nothing_has_no_command(run: Path, opinion: Feedback) -> None:
    found = of(run, opinion)
    assert (found.taught, found.measured) == ((), ())


def test_the_best_checkpoint_in_the_folder_is_improved_and_measured(run: Path) -> None:
    best = run / "checkpoints" / "0002"
    best.mkdir()
    (best / "config.json").write_text("{}")
    found = of(run, said(SCORE))
    assert f"base={best} " in found.taught[0].command
    assert found.measured == (
        f"agentevol eval --model {best} --env guess --episodes 200 --records before.jsonl",
        "agentevol eval --model better-kto --env guess --episodes 200 --records after.jsonl",
        "agentevol compare before.jsonl after.jsonl",
    )


def test_the_model_of_a_table_is_not_known(tmp_path: Path) -> None:
    place = tmp_path / "tables" / "human"
    Store.open(place).append([episode("a")], commit={"n": "1"})
    found = of(place, said(CORRECTION))
    assert (found.base, found.measured) == ("MODEL", ())
    assert "base=MODEL --out better-dpo" in found.taught[0].command
