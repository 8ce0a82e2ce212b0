"""Cloning, reward model and PPO with one command, killed in each stage or not; and their benchmark."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from agentevol.runs.starter.build import build
from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
SHOWN, EVALUATED, EXPLORED = 8, 8, 32
"""Episodes of demonstration, of an evaluation on both splits, and of a round."""
FEW = (
    "name=same",
    *("explore.tasks=8", "explore.samples=4", "explore.max_new_tokens=4", "demonstrations.tasks=8"),
    *("evaluate.episodes=4", "evaluate.validation_episodes=4", "engine.workers=1", "learn.threads=1"),
    "learn.critic_warmup=0",
)
NOTED = ("seconds", "system", "faults", "replayed")
"""Parts of an iteration's summary that are no function of the settings."""
MEASURED = ("seconds", "tokens_per_s", "memory_gib", "logp_gap")
"""Figures of a training that are none either; so are the differences of engine and learner, `engine_...`."""


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions that a policy that knows both answers gets right every other time."""
    file = tmp_path_factory.mktemp("questions") / "even.jsonl"
    numbers = {"train": range(40), "valid": range(40, 50), "test": range(50, 60)}
    lines = [
        {
            "id": f"{split}/{n}",
            "split": split,
            "prompt": f"Is {n} even?",
            "answer": "no" if n % 2 else "yes",
            "verifier": "exact",
        }
        for split, own in numbers.items()
        for n in own
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, questions: Path) -> Path:
    """A policy of two layers that says yes or no."""
    place = tmp_path_factory.mktemp("base") / "model"
    recipe = StarterRecipe(
        environment="questions",
        demonstrations={"": 3000},
        care=1.0,
        worlds=({"file": str(questions)},),
        vocabulary_episodes=40,
        vocabulary_texts=tuple(str(n) for n in range(60)),
        shape=Shape(hidden=32, layers=2, heads=2, intermediate=64, context=128),
        learn=LEARN.model_copy(update={"threads": 1, "batch_tokens": 256, "learning_rate": 3e-3}),
    )
    build(replace(recipe, seed=1), place)
    return place


def command(out: Path, base: Path, questions: Path, *more: str) -> list[str]:
    preset = ["run", "--preset", "rlhf", "--iters", "4", "--out", str(out), "reward.preference_rounds=2"]
    return [*agentevol(*preset, f"env=questions:{questions}", f"base={base}"), *FEW, *more]


def agentevol(*words: str) -> list[str]:
    return [sys.executable, "-m", "agentevol", *words]


def finish(words: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)


class Moment(NamedTuple):
    """When to kill: as soon as the run's folder holds so much."""

    file: str
    episodes: int

    def has_come(self, out: Path) -> bool:
        log = (out / "trajectories" / "_delta_log").glob("*.json")
        known = sum(int(n) for file in log for n in re.findall(r'"numRecords\\?": ?(\d+)', file.read_text()))
        return (out / self.file).exists() and known >= self.episodes


START = SHOWN + EVALUATED
MOMENTS = {
    "cloning": Moment("config.toml", SHOWN),
    "collecting pairs": Moment("iterations/0000.json", START + EXPLORED),
    "learning rewards": Moment("iterations/0001.json", START + 2 * EXPLORED + EVALUATED),
    "learning by them": Moment("iterations/0002.json", START + 3 * EXPLORED + 2 * EVALUATED),
}


def figures(out: Path) -> dict[str, Any]:
    """Summaries and manifests by file, without times."""
    found: dict[str, Any] = {}
    for file in sorted([*out.glob("iterations/*.json"), *out.glob("manifests/*.json")]):
        told = json.loads(file.read_text())
        found[f"{file.parent.name}/{file.name}"] = {key: told[key] for key in told if key not in NOTED}
    return found


def numbers(told: Any, at: str = "") -> dict[str, Any]:
    """Values by the path of their names, without measured ones."""
    if not isinstance(told, dict):
        return {at: str(told) if isinstance(told, list) else told}
    kept = {name for name in told if name not in MEASURED and not name.startswith("engine_")}
    return {path: value for name in kept for path, value in numbers(told[name], f"{at}/{name}").items()}


def weights(out: Path, place: str) -> dict[str, torch.Tensor]:
    return load_file(out / place / "model.safetensors")


def test_a_run_killed_in_each_of_its_stages_ends_like_an_undisturbed_one(
    tmp_path: Path, base: Path, questions: Path
):
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    done = finish(command(calm, base, questions))
    assert done.returncode == 0, done.stderr
    told = figures(calm)
    summaries = [told[f"iterations/000{number}.json"] for number in range(5)]
    assert [one["proxy"] is None for one in summaries] == [True, True, False, False, False]
    clone, still = (calm / "checkpoints" / name / "model.safetensors" for name in ("0000", "0002"))
    assert clone.read_bytes() == still.read_bytes()
    assert [one["trained_tokens"] > 0 for one in summaries[1:]] == [False, False, True, True]
    assert 0 <= summaries[3]["learn"]["reward_pair_accuracy"] <= 1
    assert summaries[3]["learn"]["kl"] == pytest.approx(0.0, abs=1e-3)  # the clone itself sampled
    assert {one.name for one in (calm / "rewards").iterdir()} == {"0002"}
    assert (calm / "report.html").is_file()

    words = command(rough, base, questions)
    for stage, moment in MOMENTS.items():
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 600
            while not moment.has_come(rough):
                assert process.poll() is None, f"too late for {stage}"
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()
        words = agentevol("run", "--resume", str(rough))
    done = finish(words)
    assert done.returncode == 0, done.stderr
    assert numbers(figures(rough)) == pytest.approx(numbers(told))
    for place in ("rewards/0002", "checkpoints/0000", "checkpoints/0004"):
        one, other = weights(rough, place), weights(calm, place)
        assert one.keys() == other.keys()
        assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one), place


def test_the_benchmark_prints_the_table_and_goes_on_from_its_file(
    tmp_path: Path, base: Path, questions: Path
):
    file = tmp_path / "rlhf.json"
    settings = [f"base={base}", *(one for one in FEW if not one.startswith(("name", "evaluate")))]
    words = ["bench", "rlhf", "--env", f"questions:{questions}", "--rounds", "2", "--tasks", "4"]
    words += ["--arms", "sft,rlhf", "--file", str(file), *(w for one in settings for w in ("--set", one))]
    ran = finish(agentevol(*words))
    assert ran.returncode == 0, ran.stderr
    assert "right answers to 4 held-out questions of each arm and seed, in percent" in ran.stdout
    assert "\nrlhf - sft " in ran.stdout
    clone, trained = json.loads(file.read_text())["outcomes"]
    assert clone["rounds"] == trained["rounds"][:1]  # one clone for all arms of a seed
    assert clone["kl"] == 0.0
    assert [one["samples"] for one in trained["rounds"]] == [0, EXPLORED, EXPLORED]
    again = finish(agentevol(*words))
    assert again.stdout == ran.stdout
