"""Probabilities of next tokens: those of the model itself, whatever is packed together."""

from pathlib import Path

import pytest
import torch
from support.tiny_models import qwen2, write_model

from agentevol.config.sections.learner import LearnConfig
from agentevol.learn.learner import GradientLearner

PROMPTS = [("a", [3, 1, 4, 1, 5]), ("b", [9]), ("c", [2, 6, 5, 3, 5, 8, 9, 7]), ("d", [9, 3])]
IDS = [0, 7, 30]


def learner(most: int) -> GradientLearner:
    return GradientLearner(
        LearnConfig(
            algorithm="sft",
            learning_rate=1e-3,
            batch_tokens=most,
            micro_batch_tokens=most,
            threads=1,
        )
    )


def test_they_are_those_of_the_model_alone(tmp_path: Path):
    model = qwen2(31, seed=3, initializer_range=0.5)
    found = learner(64).next_tokens(write_model(tmp_path / "model", model), PROMPTS, IDS)
    assert list(found) == ["a", "b", "c", "d"]
    for name, prompt in PROMPTS:
        with torch.no_grad():
            logits = model.eval()(torch.tensor([prompt])).logits[0, -1]
        expected = logits.log_softmax(dim=0)[IDS]
        assert found[name].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
        earlier = model(torch.tensor([prompt, prompt])).logits[0, 0].log_softmax(dim=0)[IDS]
        if len(prompt) > 1:  # not those of another position
            assert found[name].tolist() != pytest.approx(earlier.tolist(), abs=1e-3)


def test_a_prompt_that_leaves_no_place_for_a_token_is_left_out(tmp_path: Path):
    checkpoint = write_model(tmp_path / "model", qwen2(31, window=64))
    assert list(learner(8).next_tokens(checkpoint, PROMPTS, IDS)) == ["a", "b", "d"]
    assert list(learner(9).next_tokens(checkpoint, PROMPTS, IDS)) == ["a", "b", "c", "d"]
    assert learner(9).next_tokens(checkpoint, [], IDS) == {}
