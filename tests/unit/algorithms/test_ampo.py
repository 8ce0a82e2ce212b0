"""AMPO by hand: eight replies to one state, two in each mode."""

from dataclasses import replace
from itertools import chain, pairwise
from math import tanh
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.rollouts import rollouts_of, single_steps

from agentevol.core.algorithms.contract import Advantages, Rollouts
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.advantages.turn_level import relative
from agentevol.learn.algorithms.policy_gradient.ampo import ampo_advantage
from agentevol.learn.algorithms.testing import batch_of

MODES = [1, 1, 2, 2, 3, 3, 4, 4]
LENGTHS = [2, 4, 10, 12, 20, 20, 30, 22]

# Means by mode 0, 0, 1, 1: their mean is 1/2 and their deviation sqrt(4 * 1/4 / 3) = 0.57735, so the modes
# have -+0.5 / 0.57735 = -+0.86603. Samples: mean 1/2, deviation sqrt(8 * 1/4 / 7) = 0.53452: -+0.93541.
REWARDS = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
BY_MODE, BY_SAMPLE = 0.75**0.5, 0.875**0.5


def result(
    reward: list[float] = REWARDS,
    mode: list[int] = MODES,
    length: list[int] = LENGTHS,
    group: list[str] | None = None,
    **options: Any,
) -> Advantages:
    count = len(reward)
    steps = single_steps(reward, length, mode)
    rollouts = rollouts_of(reward, [[1]] * count, group or ["a"] * count, steps=steps)
    return ampo_advantage(rollouts, **options)


def advantages(*arguments: Any, **options: Any) -> list[float]:
    return result(*arguments, **options).advantage.tolist()


def grpo(reward: list[float]) -> list[float]:
    """The sample's part alone."""
    label = np.zeros(len(reward), dtype=np.int64)
    return relative(np.array(reward), label, divide=True, epsilon=1e-6, singleton="raw").tolist()


def test_a_sample_has_its_own_advantage_and_its_modes():
    expected = BY_MODE + BY_SAMPLE
    assert advantages() == pytest.approx([-expected] * 4 + [expected] * 4, abs=1e-5)  # epsilon 1e-6


@pytest.mark.parametrize(
    "change",
    [
        {"reward": [0.0, 0.0, 0.5, 0.0, 1.0, 1.0, 1.0, 1.0]},
        {"mode": [1, 1, 2, 2, 3, 3, 4, 2]},
        {"mode": [1, 1, 2, 2, 3, 3, 4, -1]},
        {"group": ["a"] * 7 + ["b"]},
    ],
)
def test_the_oracle_notices_a_change(change: dict[str, Any]):
    expected = BY_MODE + BY_SAMPLE
    assert advantages(**change) != pytest.approx([-expected] * 4 + [expected] * 4, abs=1e-2)


def test_means_of_modes_count_alike_however_many_samples_they_have():
    # mode 1 four times: means still 0, 0, 1, 1
    got = advantages([0.0] * 6 + [1.0] * 4, [1, 1, 1, 1, 2, 2, 3, 3, 4, 4], [1] * 10)
    by_sample = grpo([0.0] * 6 + [1.0] * 4)
    assert got[0] - by_sample[0] == pytest.approx(-BY_MODE, abs=1e-5)


def test_modes_that_earn_the_same_are_compared_by_length():
    # mean lengths 3, 11, 20, 26: mean 15, deviation sqrt((144 + 16 + 25 + 121) / 3) = 10.0995
    deviation = 102**0.5
    expected = [tanh(-apart / deviation) for apart in (-12, -12, -4, -4, 5, 5, 11, 11)]
    assert advantages([0.7] * 8) == pytest.approx(expected, abs=1e-6)
    assert expected == sorted(expected, reverse=True)  # the longer, the less
    assert advantages([0.7] * 8) != pytest.approx([-value for value in expected], abs=1e-2)


def test_equal_means_of_unequal_samples_differ_between_code_and_paper():
    reward = [0.2, 0.8] * 4
    by_sample, by_length = grpo(reward), advantages([0.7] * 8)
    assert advantages(reward) == pytest.approx(np.add(by_sample, by_length), abs=1e-9)
    assert result(reward).metrics["compared_by_length"] == 1
    # eq. 4 asks for equal samples; equal means of modes then say nothing
    assert advantages(reward, length_branch="samples") == pytest.approx(by_sample, abs=1e-9)


def test_rounding_does_not_decide_whether_means_are_equal():
    # the mean of 0.1, 0.2 and 0.3 differs from 0.2 in the last place: equal, to within the tolerance
    mode, length = [1, 1, 1, 2, 2, 3, 3, 4, 4], [1, 1, 1, 2, 2, 3, 3, 4, 4]
    reward = [0.1, 0.2, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
    assert np.mean(reward[:3]) != 0.2
    assert result(reward, mode, length).metrics["compared_by_length"] == 1
    assert result(reward, mode, length, tolerance=0.0).metrics["compared_by_reward"] == 1


def test_equal_lengths_leave_the_sample_part():
    assert advantages([0.7] * 8, length=[9] * 8) == [0.0] * 8


def test_the_weight_of_modes_leads_from_grpo_to_ampo():
    assert advantages(mode_weight=0.0) == grpo(REWARDS)
    half = [-BY_MODE / 2 - BY_SAMPLE] * 4 + [BY_MODE / 2 + BY_SAMPLE] * 4
    assert advantages(mode_weight=0.5) == pytest.approx(half, abs=1e-5)  # epsilon 1e-6


INACTIVE = [
    pytest.param([1, 1, 2, 2, 3, 3, 4, -1], "invalid", id="a format error"),
    pytest.param([1, 1, 2, 2, 3, 3, 1, 2], "missing_mode", id="three modes"),
    pytest.param([0] * 8, "missing_mode", id="a world without modes"),
    pytest.param([1, 1, 2, 2, 3, 3, 4, 5], "missing_mode", id="an unknown mode"),
    pytest.param([1, 1, 2, 2, 3, 3, 3, 4], "singleton_mode", id="one mode once"),
]


@pytest.mark.parametrize(("mode", "reason"), INACTIVE)
def test_where_modes_cannot_be_compared_grpo_remains(mode: list[int], reason: str):
    got = result(mode=mode)
    assert got.advantage.tolist() == grpo(REWARDS)
    assert got.metrics["mode_advantage_active"] == 0
    assert got.metrics[f"not_compared_{reason}"] == 1


def test_a_sample_alone_keeps_its_reward_or_counts_0():
    assert advantages([0.6], [2], [9]) == pytest.approx([0.6], abs=1e-6)
    assert advantages([0.6], [2], [9], singleton="zero") == [0.0]
    assert result([0.6], [2], [9]).metrics["not_compared_singleton"] == 1


def test_a_malformed_reply_has_a_reward_of_its_own():
    steps = single_steps([0.0] * 3, [1] * 3, [1, 1, -1])
    steps.invalid[2] = True
    rollouts = rollouts_of([0.0] * 3, [[1]] * 3, ["a"] * 3, steps=steps)
    assert ampo_advantage(rollouts).advantage.tolist() == grpo([0.0, 0.0, -2.0])
    assert ampo_advantage(rollouts, malformed_reward=0.0).advantage.tolist() == [0.0] * 3
    # a well-formed action that the world could not carry out keeps what the world paid
    steps.mode[2] = 1
    assert ampo_advantage(rollouts).advantage.tolist() == [0.0] * 3


def test_turns_of_a_group_are_compared_where_their_states_are_equal():
    # Eight episodes of two turns. The first turn of all is in one state, the second in eight different ones.
    count = 8
    steps = single_steps(np.repeat(REWARDS, 2), [1] * (2 * count), np.repeat(MODES, 2).tolist())
    steps.sequence[:] = np.arange(count).repeat(2)
    steps.turn[:] = np.tile([0, 1], count)
    steps.anchor[:] = [anchor for episode in range(count) for anchor in ("door", f"room {episode}")]  # type: ignore[index]
    reward = np.stack([REWARDS, REWARDS], axis=1)
    rollouts = rollouts_of(
        reward, [[1, 1]] * count, ["a"] * count, steps=steps, step=np.arange(16).reshape(8, 2)
    )
    got = ampo_advantage(rollouts).advantage.reshape(count, 2)
    expected = BY_MODE + BY_SAMPLE
    assert got[:, 0] == pytest.approx([-expected] * 4 + [expected] * 4, abs=1e-5)
    assert got[:, 1] == pytest.approx(REWARDS, abs=1e-5)  # alone: its own reward
    # with gamma 1 the door's turns earn what comes later, too: 0 or 2, which changes no relative value
    later = ampo_advantage(rollouts, gamma=1.0).advantage.reshape(count, 2)
    assert later == pytest.approx(got, abs=1e-5)
    assert ampo_advantage(rollouts).metrics["turn_1_mode"] == 2.5


def talks(rewards: list[float], modes: list[list[int]], tokens: int = 1) -> Rollouts:
    """Episodes of one group with as many turns as modes, which pay at their end; no state recurs."""
    turns = [len(own) for own in modes]
    width, number = max(turns), iter(range(sum(turns)))
    paid = [[0.0] * (count - 1) + [end] for count, end in zip(turns, rewards, strict=True)]
    steps = single_steps(list(chain(*paid)), [tokens] * sum(turns), list(chain(*modes)))
    steps.sequence[:] = np.repeat(np.arange(len(modes)), turns)
    steps.turn[:] = [turn for count in turns for turn in range(count)]
    steps.anchor[:] = [f"state {number}" for number in range(sum(turns))]  # type: ignore[index]
    return rollouts_of(
        [[*own, *[0.0] * (width - len(own))] for own in paid],
        [[1] * count + [0] * (width - count) for count in turns],
        ["a"] * len(modes),
        steps=steps,
        step=[[next(number) if turn < count else 0 for turn in range(width)] for count in turns],
    )


def test_turns_of_talks_are_compared_by_their_number_and_paid_by_the_outcome():
    # Eight talks of two turns with the modes of `MODES`, and the outcomes of `REWARDS`: at both turns the
    # numbers are those of eight replies to one state.
    rollouts = talks(REWARDS, [[mode, mode] for mode in MODES])
    options = {"compare": "turn", "credit": "episode"}
    got = objective("ampo", options).advantage(rollouts)
    expected = BY_MODE + BY_SAMPLE
    assert got.advantage.reshape(8, 2).tolist() == [
        pytest.approx([sign * expected] * 2, abs=1e-5) for sign in [-1] * 4 + [1] * 4
    ]
    assert got.metrics["compared_by_reward"] == 1
    # without credit the first turns, which are paid nothing, differ in no reward, and not in length either
    own = objective("ampo", {"compare": "turn"}).advantage(rollouts).advantage.reshape(8, 2)
    assert own[:, 0].tolist() == [0.0] * 8
    # and by state every turn is alone
    alone = objective("ampo", {"credit": "episode"}).advantage(rollouts)
    assert alone.metrics["not_compared_singleton"] == 1


def test_late_turns_are_compared_with_those_of_the_talks_that_last():
    rollouts = talks([0.0, 1.0, 1.0], [[1], [1, 2], [1, 2, 3]])
    options = {"compare": "turn", "credit": "episode", "singleton": "zero", "mode_weight": 0.0}
    got = objective("ampo", options).advantage(rollouts).advantage.tolist()
    first = grpo([0.0, 1.0, 1.0])
    assert got == pytest.approx([first[0], first[1], 0.0, first[2], 0.0, 0.0], abs=1e-9)


def test_a_malformed_turn_is_paid_alone_for_itself():
    rollouts = talks([1.0, 1.0], [[1, 1], [-1, 1]])
    rollouts.steps.invalid[2] = True
    options = {"compare": "turn", "credit": "episode"}
    got = objective("ampo", options).advantage(rollouts).advantage.tolist()
    assert got == pytest.approx([*grpo([1.0, -2.0])[:1], 0.0, *grpo([1.0, -2.0])[1:], 0.0], abs=1e-9)


def test_the_outcome_counts_less_for_turns_with_long_answers():
    rollouts = talks([1.0, 1.0], [[1, 1], [1, 1]])
    counted = replace(rollouts, steps=replace(rollouts.steps, answer_tokens=np.array([5, 5, 5, 9])))
    options = {"compare": "turn", "credit": "episode", "length_target": 9.0, "length_span": 4.0}
    got = objective("ampo", options).advantage(counted).advantage.tolist()
    # the first turns keep 1, the last ones 1 and 1/2
    assert got == pytest.approx([0.0, grpo([1.0, 0.5])[0], 0.0, grpo([1.0, 0.5])[1]], abs=1e-9)


def test_rewards_to_the_end_are_not_discounted_as_well():
    with pytest.raises(ConfigError, match="gamma"):
        objective("ampo", {"credit": "episode", "gamma": 0.9})


def test_groups_do_not_mix():
    got = advantages(REWARDS * 2, MODES * 2, LENGTHS * 2, ["a"] * 8 + ["b"] * 8)
    assert got == advantages() * 2


def test_metrics_by_mode_and_by_reason():
    got = result(mode=[1, 1, 2, 2, 3, 3, 3, -1]).metrics
    expected = {
        "format_errors": 0.0,  # not invalid: it was no matter of the format
        "judge_failures": 1 / 8,
        "mode_advantage_active": 0.0,
        "not_compared_invalid": 1.0,
        "compared_by_reward": 0.0,
        "mode_1_share": 2 / 8,
        "mode_1_reward": 0.0,
        "mode_1_length": 3.0,
        "mode_3_share": 3 / 8,
        "mode_3_reward": 1.0,
        "mode_3_length": 70 / 3,
        "mode_4_share": 0.0,
        "turn_0_mode": 15 / 7,
    }
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    assert "mode_4_reward" not in got  # nobody knows


def test_malformed_replies_judges_that_failed_and_answers_are_told_apart():
    steps = single_steps([0.0] * 4, [10, 20, 30, 40], [1, 2, -1, -1])
    steps.invalid[2] = True  # the reply was malformed; of the last one a judge gave up
    rollouts = rollouts_of([0.0] * 4, [[1]] * 4, ["a"] * 4, steps=steps)
    got = ampo_advantage(rollouts).metrics
    assert (got["format_errors"], got["judge_failures"]) == (0.25, 0.25)
    assert got["answer_tokens"] == 25.0  # where nobody counted answers, the replies are
    counted = replace(rollouts, steps=replace(steps, answer_tokens=np.array([1, 2, 3, 6])))
    metrics = ampo_advantage(counted).metrics
    assert metrics["answer_tokens"] == 3.0
    assert (metrics["mode_1_length"], metrics["mode_2_length"]) == (10.0, 20.0)  # of whole replies


GROUPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.9, 1.0, 1e6, -1e6]), st.integers(1, 4), st.integers(1, 999)),
    max_size=16,
)


def group_of(rows: list[tuple[float, int, int]]) -> tuple[list[float], list[int], list[int]]:
    """Columns of a group in which every mode occurs twice at least."""
    both = [(0.25, mode, 10 * mode) for mode in MODES] + rows
    return [row[0] for row in both], [row[1] for row in both], [row[2] for row in both]


def mode_advantages(reward: list[float], mode: list[int], length: list[int]) -> dict[int, float]:
    """The advantage of each mode."""
    apart = np.subtract(advantages(reward, mode, length), grpo(reward))
    return dict(zip(mode, apart.tolist(), strict=True))


@given(rows=GROUPS)
def test_advantages_of_modes_are_bounded_and_cancel_where_rewards_decide(rows: list[tuple[float, int, int]]):
    reward, mode, length = group_of(rows)
    by_mode = mode_advantages(reward, mode, length)
    assert np.isfinite(list(by_mode.values())).all()
    if result(reward, mode, length).metrics["compared_by_reward"]:
        assert sum(by_mode.values()) == pytest.approx(0, abs=1e-6)
        assert max(map(abs, by_mode.values())) <= 1.5 + 1e-9  # (4 - 1) / sqrt(4)


@given(length=st.lists(st.integers(1, 2000), min_size=8, max_size=8))
def test_by_length_modes_are_below_1_and_fall_with_length(length: list[int]):
    by_mode = mode_advantages([0.3] * 8, MODES, length)
    means = {mode: (length[2 * mode - 2] + length[2 * mode - 1]) / 2 for mode in range(1, 5)}
    assert max(map(abs, by_mode.values())) < 1
    order = sorted(means, key=lambda mode: means[mode])
    assert all(by_mode[one] >= by_mode[next_] - 1e-12 for one, next_ in pairwise(order))
    assert all((means[a] == means[b]) == (by_mode[a] == by_mode[b]) for a in means for b in means)


@given(rows=GROUPS, seed=st.integers(0, 99))
def test_permuted_samples_and_relabelled_modes_change_nothing_else(rows: list[Any], seed: int):
    reward, mode, length = group_of(rows)
    plain = np.array(advantages(reward, mode, length))
    random = np.random.default_rng(seed)
    order = random.permutation(len(reward))
    columns = [np.array(column)[order].tolist() for column in (reward, mode, length)]
    assert advantages(*columns) == pytest.approx(plain[order], abs=1e-6)  # sums in another order
    names = dict(zip(range(1, 5), (random.permutation(4) + 1).tolist(), strict=True))
    assert advantages(reward, [names[each] for each in mode], length) == pytest.approx(plain, abs=1e-6)


@given(shift=st.sampled_from([0.5, -0.25, 3.0]))
def test_a_shift_of_all_rewards_changes_nothing(shift: float):
    reward = [0.1, 0.4, 0.2, 0.9, 0.5, 0.5, 1.0, 0.8]
    assert advantages([value + shift for value in reward]) == pytest.approx(advantages(reward), abs=1e-9)


def learnt_modes(name: str, pays: tuple[float, ...], seed: int = 0) -> list[float]:
    """Chances of the four modes after 60 updates, where a reply of a mode is right with these chances."""
    random, learner = np.random.default_rng(seed), objective(name)
    preference = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([preference], lr=0.05)
    for _ in range(60):
        chances = preference.detach().softmax(0).numpy()
        mode = random.choice(4, size=32, p=chances) + 1
        reward = (random.random(32) < np.array(pays)[mode - 1]).astype(np.float64)
        steps = single_steps(reward, [(4, 10, 18, 22)[each - 1] for each in mode], mode.tolist())
        old = np.log(chances)[mode - 1]
        given = rollouts_of(
            reward, [[1]] * 32, ["a", "b"] * 16, steps=steps, old_logp=old[:, None], ref_logp=old[:, None]
        )
        assert learner.advantage is not None
        logp = preference.log_softmax(0)[mode - 1][:, None]
        columns = {"old_logp": old, "ref_logp": old, "advantage": learner.advantage(given).advantage}
        optimiser.zero_grad()
        learner.loss(batch_of(logp, [[1]] * 32, **columns)).value.backward()
        optimiser.step()
    return preference.detach().softmax(0).tolist()


def test_a_policy_learns_to_think_as_much_as_a_task_takes():
    # an easy task: all modes are right, and only length tells them apart; a hard one: only the last two are
    easy, hard = learnt_modes("ampo", (1.0, 1.0, 1.0, 1.0)), learnt_modes("ampo", (0.1, 0.1, 1.0, 1.0))
    assert easy[0] > 0.5
    assert hard[2] + hard[3] > 0.8
    # GRPO has nothing to learn from the easy one
    assert learnt_modes("grpo", (1.0, 1.0, 1.0, 1.0)) == pytest.approx([0.25] * 4, abs=1e-6)


def test_rewards_that_say_nothing_of_modes_do_not_make_one_of_them_certain():
    chances = np.mean([learnt_modes("ampo", (0.5,) * 4, seed) for seed in range(3)], axis=0)
    assert chances.max() < 0.6


def test_without_modes_it_is_grpo():
    rollouts = rollouts_of([0.0, 1.0, 0.5, 0.5], [[1, 1]] * 4, ["a", "a", "b", "b"])
    ampo, plain = objective("ampo"), objective("grpo")
    assert ampo.advantage is not None
    assert plain.advantage is not None
    assert ampo.advantage(rollouts).advantage.tolist() == plain.advantage(rollouts).advantage.tolist()
    assert {name: plain.options[name] for name in ("aggregation", "clip_high", "kl", "kl_coef")} == {
        name: ampo.options[name] for name in ("aggregation", "clip_high", "kl", "kl_coef")
    }
