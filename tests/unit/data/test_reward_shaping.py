"""The R3 reward of turns by hand, that it telescopes, and what reaches the algorithms."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trajectories import trajectory

from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import EpisodeFacts
from agentevol.data.rewards.shaping import (
    agreement,
    episodes_of,
    length_correlation,
    shaped,
    start_values,
    step_rewards,
)
from agentevol.data.training_sequences import grouped, valued
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.trainable_sequences import fit
from agentevol.learn.rewards.monte_carlo_values import StateValue
from agentgym_store.records import Failed, Sample, Trajectory, Turn


def episode(name: str, rewards: Sequence[float], task: str = "t") -> Trajectory:
    """Every turn reads one token and says two."""
    turns, prompt = [], [1]
    for number, reward in enumerate(rewards):
        ids = {"prompt_ids": tuple(prompt), "token_ids": (10 + number, 2)}
        sample = Sample(text="", **ids, logprobs=(-0.5, -0.25), policy_version=3)
        turns.append(Turn(action="a", observation="o", reward=reward, sample=sample))
        prompt += [10 + number, 2, 3]
    return trajectory(id=name, iteration=2, task_id=task, initial_observation="start", turns=tuple(turns))


WON, LOST, OTHER = episode("won", [0.0, 1.0]), episode("lost", [0.0, 0.0, 0.0]), episode("other", [1.0], "u")
EXPLORED = [WON, LOST, OTHER]
SAID = {"won": {0: 0.75, 1: 0.9}, "lost": {0: 0.25, 1: 0.5, 2: 0.5}}


def test_the_value_of_the_start_is_the_mean_outcome_of_the_samples_of_a_task():
    broken = episode("broken", [1.0]).model_copy(update={"ending": Failed(failure="policy")})
    assert start_values([*EXPLORED, broken]) == {"r/2/guess/t": 0.5, "r/2/guess/u": 1.0}


def test_a_turn_earns_half_of_how_much_it_raised_the_value_and_the_last_one_the_outcome_too():
    # won:  0.75 - 0.5 = 0.25, 1 - 0.75 = 0.25;  half of each, and 1 for the outcome
    # lost: 0.25 - 0.5 = -0.25, 0.5 - 0.25 = 0.25, 0 - 0.5 = -0.5;  half of each
    # other: 1 - 1 = 0, and 1 for the outcome. What was said after a last turn has no influence.
    sequences = grouped(EXPLORED, objective("grpo"))
    steps = step_rewards(episodes_of(sequences), SAID, start_values(EXPLORED))
    found = [sequence.episode.rewards for sequence in shaped(sequences, steps, alpha=1.0, beta=0.5)]
    assert found == [
        pytest.approx((0.125, 1.125), abs=1e-12),
        pytest.approx((-0.125, 0.125, -0.25), abs=1e-12),
        pytest.approx((1.0,), abs=1e-12),
    ]


def test_without_step_rewards_only_the_outcome_is_left_at_the_last_turn():
    early = episode("early", [0.25, 0.5, 0.0])  # the world's own rewards on the way move to the end
    sequences = grouped([early], objective("grpo"))
    steps = step_rewards(episodes_of(sequences), {}, start_values([early]))
    assert shaped(sequences, steps, alpha=2.0, beta=0.0)[0].episode.rewards == (0.0, 0.0, 1.5)


def test_with_a_discount_the_value_after_a_turn_counts_less():
    # 0.9 * 0.75 - 0.5 and 0.9 * 1 - 0.75
    steps = step_rewards(
        episodes_of(grouped([WON], objective("grpo"))), SAID, {"r/2/guess/t": 0.5}, discount=0.9
    )
    assert steps["won"].tolist() == pytest.approx([0.175, 0.15], abs=1e-12)


def test_a_turn_of_which_nothing_was_said_changes_no_value():
    sequences = grouped([WON, LOST], objective("grpo"))
    steps = step_rewards(episodes_of(sequences), {"lost": {1: 0.25}}, {"r/2/guess/t": 0.5})
    assert steps["won"].tolist() == [0.0, 0.5]  # V stays 0.5 to the end, where it is 1
    assert steps["lost"].tolist() == [0.0, -0.25, -0.25]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=30), min_size=1, max_size=6),
    st.floats(0, 1),
)
def test_the_step_rewards_of_an_episode_add_up_to_its_outcome_less_the_value_of_the_start(values, start):
    def facts(turns: int, outcome: float) -> EpisodeFacts:
        none = (0.0,) * (turns - 1)
        return EpisodeFacts("g", (*none, outcome), ("",) * turns, (0,) * turns, (False,) * turns, False)

    episodes = {str(n): facts(len(said), float(n % 2)) for n, said in enumerate(values)}
    said = {str(n): dict(enumerate(one)) for n, one in enumerate(values)}
    for name, rewards in step_rewards(episodes, said, {"g": start}).items():
        assert rewards.sum() == pytest.approx(sum(episodes[name].rewards) - start, abs=1e-9)


def test_turns_of_one_episode_now_differ_for_an_algorithm_that_credits_turns_but_not_for_grpo():
    sequences = grouped([WON, LOST], objective("grpo"))
    steps = step_rewards(episodes_of(sequences), SAID, start_values([WON, LOST]))
    changed = shaped(sequences, steps, alpha=1.0, beta=0.5)

    def advantages(name: str, given_sequences) -> np.ndarray:
        rollouts = Assembly(fit(given_sequences, 100).sequences).rollouts()
        return objective(name, {"kl_coef": 0.0}).advantage(rollouts).advantage

    # (alpha + beta) * outcome - beta * V(start): dividing by the deviation leaves what was there before
    assert advantages("grpo", changed) == pytest.approx(advantages("grpo", sequences), abs=1e-5)
    before, after = advantages("reinforce_pp", sequences), advantages("reinforce_pp", changed)
    assert np.ptp(before[:4]) == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(after[:4]) > 0.01


def test_labels_sit_on_the_last_token_of_every_valued_turn():
    # tokens of `lost`: read, said said, read, said said, read, said said; turns 0 and 1 are valued
    values = {"lost": {0: StateValue(1.0, 4), 1: StateValue(3.0, 4)}}
    (sequence,) = valued(EXPLORED, values)
    assert sequence.trajectory_id == "lost"
    assert sequence.mask.nonzero()[0].tolist() == [2, 5]
    assert sequence.labels.shape == (9, 1)
    assert sequence.labels[sequence.mask, 0].tolist() == [0.25, 0.75]
    assert sequence.label_samples[sequence.mask].tolist() == [4.0, 4.0]
    assert np.isnan(sequence.labels[~sequence.mask]).all()
    # nothing of the engine goes along: these are other weights than those that sampled
    assert sequence.policy_version is None
    assert np.isnan(sequence.rollout_logp).all()
    assert valued(EXPLORED, {}) == []


def test_figures_compare_what_was_said_with_what_was_counted():
    counted = {"won": {0: StateValue(2.0, 4)}, "lost": {0: StateValue(0.0, 4), 7: StateValue(1.0, 1)}}
    # (0.75 - 0.5)^2 and (0.25 - 0)^2; of turn 7 nothing was said
    # in bins of their own, 0.75 is 0.25 from 0.5 and 0.25 from 0; the higher value has the higher label
    assert agreement(SAID, counted) == {
        # -(0.5 ln 0.75 + 0.5 ln 0.25) and -ln 0.75; no state is won more often than not
        "process_bce": pytest.approx((-0.5 * np.log(0.75 * 0.25) - np.log(0.75)) / 2),
        "process_auc": pytest.approx(np.nan, nan_ok=True),
        "process_brier": pytest.approx((0.0625 + 0.0625) / 2),
        "process_calibration_error": pytest.approx(0.25),
        "process_rank_correlation": pytest.approx(1.0),
    }
    assert all(np.isnan(value) for value in agreement({}, counted).values())
    steps = {"a": np.array([0.5]), "b": np.array([0.25, 0.25]), "c": np.array([0.5, 0.5, -0.5])}
    assert np.isnan(length_correlation(steps))  # all add up to 0.5
    assert length_correlation({**steps, "c": np.array([0.5, 0.5, 0.5])}) > 0.8
