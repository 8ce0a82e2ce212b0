"""A run in an environment with two seats: self-play, and beside another player."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.distributions import install
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.word_tokenizer import END, PAD, word_tokenizer
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
WORDS = ["say", "stop", "You are left. right. Say This is episode Seed left: right: / 0. 1. 2. 0 1 2 3 4 5 6"]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command `agentevol run env=duel`, which a distribution registers, with a random model."""
    code = "from support.server.environments import Duel as Duel\n"
    install(tmp_path / "site", "duel", code, {"agentgym.environments": {"duel": "Duel"}})
    tokenizer = word_tokenizer(WORDS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.get_vocab()[END],
        pad_token_id=tokenizer.get_vocab()[PAD],
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    # all hidden states have a large first component, by which two words are likely and all others are not
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 10.0
        model.lm_head.weight[:, 0] = -5.0
        model.lm_head.weight[tokenizer.convert_tokens_to_ids(["say", "stop"]), 0] = 5.0
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    tests = Path(__file__).parents[1]
    places = [str(tmp_path / "site"), str(tests), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "AGENTEVOL_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(places),
    }

    def start(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
        settings = (f"base={tmp_path / 'model'}", "algorithm=grpo", "explore.samples=4")
        few = (
            "engine.threads=1",
            "engine.workers=1",
            "learn.threads=1",
            "explore.max_new_tokens=1",
            "environment.max_turns=4",
            "--iters",
            "1",
            "--out",
            str(out),
        )
        command = [sys.executable, "-m", "agentevol", "run", "env=duel", *settings, *few, *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)

    return start


def episodes(out: Path, purpose: str, iteration: int) -> list[Trajectory]:
    found = Store.open(out / "trajectories").trajectories(Where(purpose=purpose, iteration=iteration))
    return sorted(found, key=lambda one: one.id)


def test_the_policy_plays_itself_in_both_seats(tmp_path: Path, run: Run):
    out = tmp_path / "run"
    ran = run(out)
    assert ran.returncode == 0, ran.stderr
    explored = episodes(out, "explore", 1)
    assert Counter(one.episode for one in explored) == Counter(
        {f"{one.run}/explore/0001/{one.task_id}/{one.attempt}": 2 for one in explored}
    )
    assert len(explored) == 2 * 4 * 2  # tasks, samples, seats
    views = {one.seat: one.initial_observation.split()[2] for one in explored}
    assert views == {0: "left.", 1: "right."}
    last = RunFolder.resume(out).summaries.of(1)
    assert last is not None
    assert (last.requested, last.seats, sum(last.explored.values())) == (8, 2, 16)
    assert last.evaluation is not None
    assert last.evaluation.n == 2 * 3
    assert {name: n for name, (_, n) in last.evaluation.by["seat"].items()} == {"seat 0": 3, "seat 1": 3}
    assert last.trained_tokens > 0
    assert "8 x 2 seats" in (out / "report.html").read_text()


def test_a_partner_plays_the_other_seat_and_nothing_learns_from_it(tmp_path: Path, run: Run):
    out = tmp_path / "run"
    ran = run(out, "environment.partner=random")
    assert ran.returncode == 0, ran.stderr
    explored, partners = episodes(out, "explore", 1), episodes(out, "partner", 1)
    assert {one.policy for one in partners} == {"random"}
    own, others = ({one.episode: one.seat for one in group} for group in (explored, partners))
    assert len(explored) == len(own) == 8
    assert {episode: 1 - seat for episode, seat in own.items()}.items() <= others.items()
    last = RunFolder.resume(out).summaries.of(1)
    assert last is not None
    assert (last.requested, last.seats, sum(last.explored.values())) == (8, 1, 8)
    assert last.evaluation is not None
    assert last.evaluation.n == 3
    assert last.trained_tokens > 0


def test_a_partner_that_cannot_be_is_refused_in_one_line(tmp_path: Path, run: Run):
    refused = run(tmp_path / "run", "environment.partner=nowhere")
    assert refused.returncode == 2
    assert "nowhere" in refused.stderr
    refused = run(tmp_path / "run", "environment.seats=3")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "duel has 2: left, right; play all of them or 1" in refused.stderr
    assert not (tmp_path / "run").exists()
