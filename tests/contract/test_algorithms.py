"""The check of algorithms on every algorithm and on broken ones, and properties of some of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss, Option, Rollouts
from agentevol.core.algorithms.registry import ALGORITHMS, algorithm, objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.check import check_algorithm
from agentevol.learn.algorithms.testing import (
    PER_SEQUENCE,
    batch_of,
    example_batch,
    example_rollouts,
)

NAMES = sorted(ALGORITHMS)

CHOSEN_VALUES: dict[str, list[Option]] = {
    "dual_clip": [1.02],
    "max_weight": [0.9],
    "overlong_cap": [6],
    "top_k": [1],
}
"""Other values of options whose range or effect needs them."""


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_passes_the_check(name: str):
    report = check_algorithm(name, CHOSEN_VALUES)
    assert report.passed, "\n".join(report.lines())
    assert all(result.cases > 0 for result in report.results if result.name != "options")


def own_mean(batch: Batch) -> Loss:
    return Loss(-batch.logp.mean())


def by_position(batch: Batch) -> Loss:
    places = torch.arange(1, len(batch.logp) + 1)
    return Loss((batch.logp * places).sum() / batch.totals.tokens)


def without_gradient(batch: Batch) -> Loss:
    return Loss((batch.logp.detach() ** 2 + 0 * batch.logp).sum() / batch.totals.tokens)


def noisy(batch: Batch) -> Loss:
    return Loss((batch.logp * torch.rand(len(batch.logp))).sum() / batch.totals.tokens)


def exploding(batch: Batch) -> Loss:
    return Loss((batch.logp - batch.old_logp).square().exp().sum() / batch.totals.tokens)


def idle_option(batch: Batch, *, unused: float = 0.1) -> Loss:  # noqa: ARG001
    return Loss(-batch.logp.sum() / batch.totals.tokens)


def broken(loss: Callable[..., Loss]) -> Algorithm:
    return Algorithm(loss=loss, data="episodes", needs={"old_logp": None})


BROKEN = {
    "own_mean": ("micro", "micro-batches add up to a loss of"),
    "by_position": ("order", "in another order of sequences the loss is"),
    "without_gradient": ("gradients", "gradients differ from finite differences"),
    "noisy": ("equal bits", "equal inputs give other results"),
    "exploding": ("extremes", "log-ratios of 50: the loss or its gradient is not finite"),
    "idle_option": ("options", "option 'unused' has no effect"),
}
own_mean_algorithm = broken(own_mean)
by_position_algorithm = broken(by_position)
without_gradient_algorithm = broken(without_gradient)
noisy_algorithm = broken(noisy)
exploding_algorithm = broken(exploding)
idle_option_algorithm = broken(idle_option)


@pytest.mark.parametrize("name", BROKEN)
def test_the_check_notices_what_is_broken(name: str):
    report = check_algorithm(f"{__name__}:{name}_algorithm")
    failed = {result.name: " ".join(result.violations) for result in report.results if result.violations}
    check, sentence = BROKEN[name]
    assert sentence in failed[check]
    assert name in ("by_position", "noisy") or list(failed) == [check]  # these break several


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sftt", {}, "no algorithm named 'sftt'; there are: "),
        ("sft", {"dtf": True}, "no option 'dtf'; there are: aggregation, dft"),
        ("sft", {"dft": "False"}, "option 'dft' of sft cannot be 'False'"),
    ],
)
def test_unknown_names_and_options_are_errors(name: str, options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        objective(name, options)


def test_padding_and_rows_without_learnt_tokens_are_no_part_of_a_batch():
    short = batch_of([[-1.0, -2.0]], [[True, True]])
    padded = batch_of(
        [[-1.0, -2.0, -9.0], [-9.0, -9.0, -9.0]], [[1, 1, 0], [0, 0, 0]], old_logp=[[0, 0, 0]] * 2
    )
    assert padded.logp.tolist() == short.logp.tolist() == [-1.0, -2.0]
    assert padded.totals == short.totals
    assert len(padded.weight) == 1
    assert set(PER_SEQUENCE) <= set(vars(padded))


WITH_ADVANTAGES = [name for name in NAMES if algorithm(name).advantage is not None]

CENTRED = ("adpo", "cispo", "dapo", "dr_grpo", "grpo", "gspo", "reinforce_pp_baseline", "rloo")
"""Algorithms whose advantages depend on how an episode compares with its group, and on nothing else."""


def shifted_and_scaled(rollouts: Rollouts, shift: float, factor: float) -> Rollouts:
    """Returns times `factor`, then `shift` more in the first group; one group is a singleton."""
    reward = factor * rollouts.reward
    last = np.flatnonzero(np.diff(rollouts.sequence, append=-1))
    first_group = np.asarray([name == rollouts.group[0] for name in rollouts.group])
    reward[last[first_group[rollouts.sequence[last]]]] += shift
    steps = replace(rollouts.steps, reward=factor * rollouts.steps.reward)
    return replace(rollouts, reward=reward, steps=steps)


def advantages(name: str, rollouts: Rollouts, **options: Option) -> np.ndarray:
    bound = objective(name, options)
    assert bound.advantage is not None
    return bound.advantage(rollouts).advantage


@pytest.mark.parametrize("name", NAMES)
def test_what_groups_are_called_changes_nothing(name: str):
    loss, whole = objective(name).loss, example_batch(algorithm(name), seed=6)
    renamed = replace(whole, group=7 - 2 * whole.group)
    if name != "bradley_terry":  # draws its members' resamples by the number of the group
        assert loss(renamed).value.item() == loss(whole).value.item()
    if name in WITH_ADVANTAGES:
        rollouts = example_rollouts(6)
        others = replace(rollouts, group=[f"z{name[::-1]}" for name in rollouts.group])
        assert advantages(name, others) == pytest.approx(advantages(name, rollouts), abs=1e-12)


@pytest.mark.parametrize("name", CENTRED)
def test_a_constant_added_to_a_groups_returns_changes_nothing(name: str):
    rollouts = example_rollouts(9)
    moved = advantages(name, shifted_and_scaled(rollouts, 3.0, 1.0))
    assert moved == pytest.approx(advantages(name, rollouts), abs=1e-9)


@pytest.mark.parametrize("name", [*CENTRED, "lagrangian", "gigpo", "ampo"])
def test_a_factor_of_the_returns_cancels_or_stays(name: str):
    rollouts = replace(example_rollouts(10), multipliers={})
    if name == "gigpo":  # a penalty in units of the return is no part of it
        rollouts = replace(rollouts, steps=replace(rollouts.steps, invalid=rollouts.steps.invalid & False))
    if name == "ampo":  # so are formats, and here the singleton keeps its reward
        modes = np.where(rollouts.steps.mode == -1, 1, rollouts.steps.mode)
        rollouts = replace(rollouts, steps=replace(rollouts.steps, mode=modes))
    options: dict[str, Option] = {"kl_coef": 0.0}  # a divergence in the reward does not scale with it
    if name in ("gigpo", "ampo"):
        options["singleton"] = "zero"
    once, twice = (
        advantages(name, shifted_and_scaled(rollouts, 0.0, factor), **options) for factor in (1.0, 2.0)
    )
    factor = 2.0 if name in ("dr_grpo", "rloo") else 1.0
    assert twice == pytest.approx(factor * once, abs=1e-3)  # epsilon is up to 1e-4 of the least deviation


@pytest.mark.parametrize("name", CENTRED)
def test_the_advantages_of_a_groups_episodes_sum_to_zero(name: str):
    rollouts = example_rollouts(11)
    found = advantages(name, rollouts)
    first = np.flatnonzero(np.diff(rollouts.sequence, prepend=-1))
    for group in set(rollouts.group):
        own = [place for place in first if rollouts.group[rollouts.sequence[place]] == group]
        if name != "reinforce_pp_baseline":  # whitened over tokens: all of the update cancel, not a group's
            assert found[own].sum() == pytest.approx(0.0, abs=1e-9)
    if name == "reinforce_pp_baseline":
        assert found.sum() == pytest.approx(0.0, abs=1e-9)
