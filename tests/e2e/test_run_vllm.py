"""The main job with vLLM behind its rollout workers."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.tiny_models import GUESS_RUN, write_guess_model

from agentevol.core.errors import ConfigError
from agentevol.engines.vllm.capabilities import check_installed
from agentgym_store.store import Store, Where

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.usefixtures("clean_environment"),
]
SETTINGS = (*GUESS_RUN, "engine=vllm", "engine.workers=1")


SENT = ("engine.workers=2", "engine.transfer=gloo", "engine.colocated=true")
"""The learner sends its weights to two engines, which sleep while it learns."""
ADAPTERS = ("engine.lora=true", "learn.lora.rank=4", "learn.lora.keep=true", "engine.colocated=true")


@pytest.mark.parametrize(
    ("tied", "more"), [(False, ()), (True, SENT), (True, ADAPTERS)], ids=["read", "sent", "adapters"]
)
def test_a_run_with_vllm_learns_from_its_own_episodes(tied: bool, more: Sequence[str], tmp_path: Path):
    out, base = tmp_path / "run", write_guess_model(tmp_path / "base", tied=tied)
    command = [sys.executable, "-m", "agentevol", "run", "--iters", "2", "--out", str(out), f"base={base}"]
    command += [*SETTINGS, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    episodes = list(Store(out / "trajectories").trajectories(Where(purpose="explore")))
    assert len(episodes) == 2 * 4 * 40
    assert {episode.ending.kind for episode in episodes} <= {"terminated", "truncated"}
    for episode in episodes:
        samples = [turn.sample for turn in episode.turns]
        assert {sample.policy_version for sample in samples if sample} == {episode.iteration - 1}
    summaries = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    gaps = [line["learn"]["logp_gap"] for line in summaries if "logp_gap" in line["learn"]]
    assert len(gaps) == 2
    assert max(gaps) < 1e-4


def test_two_gpus_of_a_placement_group_hold_the_weights_together_and_learn_in_turns(
    tmp_path: Path, head: Any
):
    head.add_node(num_cpus=1, num_gpus=2)  # it says so; vLLM computes in two processes there
    out, base = tmp_path / "run", write_guess_model(tmp_path / "base", tied=False)
    command = [sys.executable, "-m", "agentevol", "run", "--iters", "1", "--out", str(out), f"base={base}"]
    shared = ("engine.tensor_parallel=2", "engine.colocated=true", f"ray.address={head.address}")
    done = subprocess.run(
        [*command, *SETTINGS, *shared], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr
    episodes = list(Store(out / "trajectories").trajectories(Where(purpose="explore")))
    assert {episode.ending.kind for episode in episodes} <= {"terminated", "truncated"}
    summary = json.loads((out / "iterations" / "0001.json").read_text())
    assert sum(summary["explored"].values()) == summary["requested"]
    assert not any(summary["faults"].values())
