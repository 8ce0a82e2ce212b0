"""Evaluation of two models with weights in one episode: an engine for each, and a server process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.tiny_models import write_checkpoint

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.loop.report.evaluations.records import read_records
from agentevol.runs.evaluation import Trial, trial
from agentevol.runs.seating import Seating

pytestmark = pytest.mark.slow
EPISODES = 4
SAID_BY = dict[tuple[str, int], list[str]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    first, second = (
        write_checkpoint(folder / name, seed=seed, window=2048)
        for seed, name in enumerate(("first", "second"))
    )
    return str(first), str(second)


def play(model: str, partner: str) -> Trial:
    return trial(
        model,
        EnvironmentConfig(name="social", max_turns=3),
        "test",
        difficulty=None,
        episodes=EPISODES,
        temperature=0.0,
        seed=0,
        started=lambda total: lambda batch: None,
        max_new_tokens=4,
        seating=Seating(partner),
    )


def said(played: Trial, policy_seat: int) -> SAID_BY:
    """Messages by task and seat, of the episodes in which the policy has a seat."""
    own = [one for one in played.trajectories if one.episode.endswith(f"policy-{policy_seat}")]
    return {(one.task_id, one.seat): [turn.action for turn in one.turns] for one in own}


def test_each_seat_has_the_weights_of_its_model(models: tuple[str, str]) -> None:
    first, second = models
    played, swapped = play(first, second), play(second, first)
    # the first model in the first seat, and the second one in the other: once as policy, once as partner
    assert said(played, 0) == said(swapped, 1)
    assert said(played, 1) == said(swapped, 0)
    assert said(played, 0) != said(played, 1)
    assert {one.ending.kind for one in (*played.trajectories, *swapped.trajectories)} == {"truncated"}
    tokens = [(record.role, record.model, record.tokens) for record in played.records()]
    assert {(role, model) for role, model, _ in tokens} == {("policy", first), ("partner", second)}
    assert all(count for _, _, count in tokens)


def test_the_command_plays_two_folders(models: tuple[str, str], tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    words = ["eval", "--env", "social", "--model", models[0], "--partner", models[1], "--json"]
    few = ["--episodes", f"{EPISODES}", "--max-new-tokens", "2", "--records", str(records)]
    command = [sys.executable, "-m", "agentevol", *words, *few]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["requested"], told["agents"], sum(told["endings"].values())) == (2 * EPISODES,) * 3
    assert told["tokens_per_turn"] > 0
    assert {name: mean["n"] for name, mean in told["partner_dimensions"].items()}["goal"] == 2 * EPISODES
    assert len(read_records(records)) == 4 * EPISODES
