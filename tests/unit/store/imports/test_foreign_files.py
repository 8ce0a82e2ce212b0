"""Real data sets of other projects: transcripts of ReAct in WebShop, and sessions of people there."""

import json
import os
from pathlib import Path

import pytest

from agentgym_store.imports import Supplied, import_files
from agentgym_store.store import Store

ROOT = Path(__file__).resolve().parents[4]
DATA = Path(os.environ.get("AGENTEVOL_SHARED", ROOT.parent / "shared")) / "data" / "webshop"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="no foreign data: set AGENTEVOL_SHARED to the folder that holds data/"
)


def test_500_episodes_of_react(tmp_path: Path) -> None:
    file = DATA / "react_500_episodes.json"
    report = import_files([file], tmp_path / "out", Supplied(env="webshop"))
    assert report.formats == {str(file): "react"}
    assert (report.read, report.imported, report.dropped) == (500, 500, {})
    assert report.successes == 179  # the success of 35.8 % that was published with them
    told = json.loads(file.read_text("utf-8"))
    episodes = list(Store.open(tmp_path / "out").trajectories())
    assert [t.task_id for t in episodes] == [one["id"] for one in told]
    assert [t.total_reward for t in episodes] == [one["reward"] for one in told]
    for episode, one in zip(episodes, told, strict=True):
        assert episode.initial_observation == one["steps"][0]["observation"]
        assert [(t.action, t.observation) for t in episode.turns] == [
            (step["action"].strip(), step["observation"]) for step in one["steps"][1:]
        ]
    mean = sum(t.total_reward or 0.0 for t in episodes) / 500
    assert mean == pytest.approx(0.638, abs=5e-4)  # the mean score of 63.8


def test_nine_sessions_of_people(tmp_path: Path) -> None:
    files = sorted((DATA / "human_trajs_9").glob("*.jsonl"))
    report = import_files(files, tmp_path / "out")
    assert set(report.formats.values()) == {"webshop"}
    assert (report.read, report.imported, report.successes, report.dropped) == (9, 9, 2, {})
    episodes = {t.task_id: t for t in Store.open(tmp_path / "out").trajectories()}
    assert [turn.action for turn in episodes["20220427_1_12"].turns] == [
        "search[living room furniture]",
        "click[back to search]",
        "search[living room and kitchen furniture]",
        "click[b09lylklvx]",
        "click[buy now]",
    ]
    last = [json.loads(file.read_text("utf-8").splitlines()[-1]) for file in files]
    assert [episodes[file.stem].total_reward for file in files] == [one["reward"] for one in last]
    assert all(t.policy == "human" and t.purpose == "demonstrate" for t in episodes.values())
    parts = [episodes[file.stem].turns[-1].info["reward_parts"] for file in files]
    assert parts == [one["reward_info"] for one in last]
