"""AMPO's length reward: by hand, by tokens of the answer alone, and only where a run asks for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.rollouts import rollouts_of, single_steps
from support.trajectories import trajectory

from agentevol.config.run import load
from agentevol.core.algorithms.contract import Rollouts
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.data.answer_lengths import with_answers
from agentevol.data.training_sequences import grouped, sequences_of
from agentevol.learn.algorithms.advantages.answer_length import answer_length
from agentevol.learn.algorithms.policy_gradient.ampo import ampo_advantage
from agentevol.learn.batches.assembly import Assembly
from agentevol.models.word_tokenizer import word_tokenizer
from agentgym_envs.thinking import render
from agentgym_store.records import Sample, Trajectory, Turn

TOKENS = [175, 250, 325, 400]


def said(rewards: list[float], tokens: list[int], answer_tokens: list[int] | None = None) -> Rollouts:
    steps = single_steps(rewards, tokens)
    if answer_tokens is not None:
        vars(steps)["answer_tokens"] = np.asarray(answer_tokens)
    return rollouts_of(rewards, [[1, 1]] * len(rewards), ["a"] * len(rewards), steps=steps)


def test_a_reward_counts_less_the_longer_the_answer():
    got = answer_length(said([0.8] * 4, TOKENS), length_target=250.0)
    assert got.steps.reward.tolist() == pytest.approx([0.8, 0.4, 0.0, 0.0], abs=1e-15)
    assert got.returns.tolist() == pytest.approx([0.8, 0.4, 0.0, 0.0], abs=1e-15)
    assert got.reward.tolist()[0::2] == [0.0] * 4  # at the last token of a turn, where rewards are


@pytest.mark.parametrize(
    ("options", "kept"),
    [({"length_target": 250.0, "length_span": 150.0}, [1.0, 0.5]), ({"length_target": 175.0}, [0.5, 0.0])],
)
def test_target_and_span_say_which_lengths(options: dict[str, Any], kept: list[float]):
    tokens = [100, 250] if "length_span" in options else [175, 250]
    assert answer_length(said([1.0, 1.0], tokens), **options).returns.tolist() == pytest.approx(kept)


def test_without_a_target_nothing_changes():
    rollouts = said([0.8] * 4, TOKENS)
    assert answer_length(rollouts) is rollouts


def test_thoughts_cost_nothing_where_answers_were_counted():
    counted = said([1.0, 1.0], [400, 400], answer_tokens=[100, 250])
    assert answer_length(counted, length_target=250.0).returns.tolist() == [1.0, 0.5]
    assert answer_length(said([1.0, 1.0], [400, 400]), length_target=250.0).returns.tolist() == [0.0, 0.0]


def test_a_malformed_reply_keeps_its_own_reward_however_short():
    rollouts = said([0.0, 0.0, 1.0], [10, 10, 250])
    rollouts.steps.mode[:] = [-1, 1, 1]
    rollouts.steps.invalid[0] = True
    shaped = answer_length(rollouts, length_target=250.0)
    by_hand = np.array([-2.0, 0.0, 0.5])
    expected = (by_hand - by_hand.mean()) / (by_hand.std(ddof=1) + 1e-6)
    assert ampo_advantage(shaped).advantage[::2].tolist() == pytest.approx(expected.tolist())


WORDS = ['"', "yes", " no", "hm", " hm", ":", "Thinking", "Level", *"1234", "Intent", "Style", "Response"]


def replied(name: str, *texts: str) -> Trajectory:
    """A turn for each text, in which two tokens were sampled."""
    turns = [
        Turn(
            action=text,
            observation="",
            reward=1.0,
            sample=Sample(
                text=text,
                prompt_ids=(1, *[10, 2] * number),
                token_ids=(10, 2),
                logprobs=(-0.5, -0.25),
                policy_version=0,
            ),
        )
        for number, text in enumerate(texts)
    ]
    return trajectory(id=name, env="talk", initial_observation="start", turns=tuple(turns))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    word_tokenizer(WORDS).save_pretrained(tmp_path)
    return tmp_path


SHORT, LONG = render(1, (), "yes"), render(2, ("hm hm hm hm", "hm", "hm"), "yes no no")


def test_the_tokens_of_an_answer_are_counted_with_its_quotes(model: Path):
    episodes = [replied("a", SHORT, LONG), replied("b", "no tags at all")]
    rows = with_answers(grouped(episodes, objective("ampo")), episodes, model)
    counted = {row.trajectory_id: row.episode.answer_tokens for row in rows if row.episode}
    assert counted["a"] == (3, 5)  # two words more; the thoughts do not count
    assert counted["b"] == (0,)
    # where nothing is an answer, the two sampled tokens of the turn are
    assert Assembly(rows).rollouts().steps.answer_tokens.tolist() == [3, 5, 2]


def test_a_run_of_ampo_counts_answers_and_others_do_not(model: Path):
    (model / "config.json").write_text("{}")
    for options in (["learn.options.length_target=250.0"], []):
        asked = load(None, ["algorithm=ampo", f"base={model}", *options])
        (row,) = sequences_of([replied("a", SHORT)], objective("ampo", asked.learn.options), asked, 0)
        assert row.episode.answer_tokens == (3,)
    silent = load(None, ["algorithm=grpo", f"base={model}"])
    (row,) = sequences_of([replied("a", SHORT)], objective("grpo"), silent, 0)
    assert row.episode.answer_tokens == ()


def test_of_two_right_answers_the_shorter_one_has_the_advantage_in_a_run(model: Path):
    episodes = [replied(name, text) for name, text in (("a", SHORT), ("b", LONG))]
    chosen = objective("ampo", {"length_target": 5.0, "length_span": 4.0, "singleton": "zero"})
    rollouts = Assembly(with_answers(grouped(episodes, chosen), episodes, model)).rollouts()
    # 3 and 5 tokens earn 3/4 and 1/2: half the root of 2 below and above their mean, in deviations
    assert chosen.advantage(rollouts).advantage.tolist() == pytest.approx(
        [0.5**0.5] * 2 + [-(0.5**0.5)] * 2, 1e-4
    )
    outcome = objective("ampo", {"singleton": "zero"})
    assert outcome.advantage(rollouts).advantage.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"length_span": 10.0}, "length_target"),
        ({"mode_weight": 0.0, "length_branch": "samples"}, "mode_weight"),
        ({"length_target": -1.0}, "length_target"),
        ({"length_target": 10.0, "length_span": 0.0}, "length_span"),
    ],
)
def test_an_option_without_effect_is_refused(options: dict[str, Any], complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        objective("ampo", options)


def test_a_run_with_ampo_has_sixteen_samples_unless_told_otherwise():
    assert load(None, ["algorithm=ampo"]).explore.samples == 16
    assert load(None, ["algorithm=ampo", "explore.samples=8"]).explore.samples == 8
    assert load(None, ["algorithm=grpo"]).explore.samples == 8
