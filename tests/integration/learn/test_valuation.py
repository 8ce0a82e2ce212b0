"""What a process reward model says of whole episodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, EpisodeFacts, LearnerJob, TrainingSequence
from agentevol.learn.batches.packing import last_tokens
from agentevol.learn.heads.linear import FILE, load_heads, new_heads, to_bytes
from agentevol.learn.heads.names import FILE as NAMES
from agentevol.learn.heads.names import head_names
from agentevol.learn.heads.names import to_bytes as names_to_bytes
from agentevol.learn.learner import GradientLearner

CONFIG = LearnConfig(device="cpu", threads=1, micro_batch_tokens=8)


def sequence(name: str, token_ids: list[int], turns: list[int]) -> TrainingSequence:
    """-1 in `turns` is a token that was read."""
    turn = np.array(turns, np.int32)
    unknown = np.full(len(turns), np.nan, np.float32)
    return TrainingSequence(np.array(token_ids, np.int32), turn >= 0, unknown, 1.0, name, turn=turn)


FIRST = sequence("a", [1, 2, 3, 4, 5], [-1, 0, 0, -1, 1])
OTHER = sequence("a", [1, 2, 6], [-1, -1, 2])
"""The same episode after its template rewrote what came before."""
SHORT = sequence("b", [7, 3], [-1, 0])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random model whose head has random weights."""
    path, model = tmp_path_factory.mktemp("values"), qwen2(10, layers=2, window=32)
    model.save_pretrained(path)
    said = new_heads(model, 1)
    torch.nn.init.normal_(said.weight)
    (path / FILE).write_bytes(to_bytes(said))
    (path / NAMES).write_bytes(names_to_bytes(["outcome"]))
    return Checkpoint(path, 1)


def test_a_turn_ends_with_its_last_learnt_token():
    assert last_tokens(FIRST) == [(0, 2), (1, 4)]
    assert last_tokens(OTHER) == [(2, 2)]
    assert last_tokens(sequence("c", [1, 2], [-1, -1])) == []
    with pytest.raises(ConfigError, match="tokens without a turn number"):
        last_tokens(replace(FIRST, turn=None))


def test_every_turn_of_an_episode_has_a_value_whatever_its_sequences_and_neighbours(checkpoint: Checkpoint):
    learner = GradientLearner(CONFIG)
    (found,) = learner.values(checkpoint, [SHORT, FIRST, OTHER])
    assert {name: sorted(turns) for name, turns in found.items()} == {"a": [0, 1, 2], "b": [0]}
    alone = learner.values(checkpoint, [FIRST])[0]["a"]
    assert found["a"][0] == pytest.approx(alone[0], abs=1e-6)
    assert found["a"][1] == pytest.approx(alone[1], abs=1e-6)
    assert len({round(value, 6) for turns in found.values() for value in turns.values()}) == 4
    assert all(0 < value < 1 for turns in found.values() for value in turns.values())


def test_what_comes_later_in_an_episode_does_not_change_what_was_said_before(checkpoint: Checkpoint):
    later = sequence("a", [1, 2, 3, 4, 9], [-1, 0, 0, -1, 1])
    learner = GradientLearner(CONFIG)
    (before,), (after,) = (learner.values(checkpoint, [sequence]) for sequence in (FIRST, later))
    before, after = before["a"], after["a"]
    assert before[0] == pytest.approx(after[0], abs=1e-6)
    assert before[1] != pytest.approx(after[1], abs=1e-6)


def test_sequences_that_are_too_long_are_left_out_and_no_sequences_have_no_values(checkpoint: Checkpoint):
    learner = GradientLearner(CONFIG.model_copy(update={"micro_batch_tokens": 4}))
    assert sorted(learner.values(checkpoint, [FIRST, SHORT])[0]) == ["b"]
    assert learner.values(checkpoint, []) == [{}]


def test_a_model_without_heads_does_not_know(checkpoint: Checkpoint, tmp_path: Path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for file in checkpoint.path.iterdir():
        if file.name not in (FILE, NAMES):
            (plain / file.name).write_bytes(file.read_bytes())
    two = ["outcome", "safety"]
    assert GradientLearner(CONFIG).values(Checkpoint(plain, 0), [SHORT], two) == [{"b": {0: 0.5}}] * 2
    # neither does a critic, whose heads are about something else
    (plain / FILE).write_bytes((checkpoint.path / FILE).read_bytes())
    assert GradientLearner(CONFIG).values(Checkpoint(plain, 0), [SHORT]) == [{"b": {0: 0.5}}]


def test_a_model_with_other_heads_is_refused(checkpoint: Checkpoint):
    said = "has the heads outcome, not safety: name the same ones"
    with pytest.raises(ConfigError, match=said):
        GradientLearner(CONFIG).values(checkpoint, [SHORT], ["safety"])
    learner = GradientLearner(CONFIG.model_copy(update={"algorithm": "process_reward"}))
    labels = np.where(FIRST.mask, 0.5, np.nan).astype(np.float32)[:, None]
    with pytest.raises(ConfigError, match=said):
        learner.learn(
            LearnerJob(checkpoint, [replace(FIRST, labels=labels)], Path("nowhere"), 0, objectives=["safety"])
        )


def test_a_process_reward_model_keeps_the_names_of_its_heads(checkpoint: Checkpoint, tmp_path: Path):
    learner = GradientLearner(CONFIG.model_copy(update={"algorithm": "process_reward"}))
    labels = np.where(FIRST.mask, 0.5, np.nan).astype(np.float32)[:, None]
    later = learner.learn(
        LearnerJob(checkpoint, [replace(FIRST, labels=labels)], tmp_path / "later", 0)
    ).checkpoint
    assert head_names(later.path) == ("outcome",)
    # a policy that begins with it has a critic of its own, and is not a process reward model
    ppo = GradientLearner(CONFIG.model_copy(update={"algorithm": "ppo", "learning_rate": 0.0}))
    facts = EpisodeFacts("g", (0.0, 1.0), ("", ""), (0, 0), (False, False), truncated=False)
    policy = ppo.learn(LearnerJob(later, [replace(FIRST, episode=facts)], tmp_path / "ppo", 0)).checkpoint
    assert head_names(policy.path) is None
    critic = load_heads(policy.path)
    assert critic is not None
    assert not critic.weight.any()
