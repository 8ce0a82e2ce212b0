"""What every algorithm promises: padding, order, micro-batches, and options that all have an effect."""

from dataclasses import replace
from math import isfinite
from typing import Any, get_args

import numpy as np
import pytest
import torch

from agentevol.errors import ConfigError
from agentevol.learn.algorithms import ALGORITHMS, algorithm, objective, option_defaults, option_types
from agentevol.learn.algorithms.contract import Algorithm, Batch, Option, Rollouts, Switch, conditions, is_on
from agentevol.learn.algorithms.testing import (
    PER_SEQUENCE,
    batch_of,
    example_batch,
    example_rollouts,
    part_of,
)

NAMES = sorted(ALGORITHMS)

STOPS_GRADIENT: frozenset[str] = frozenset({"cispo", "gspo", "kto"})
"""Algorithms whose gradient is on purpose not that of their value; a test of their own derives it."""


def value_and_gradients(loss: Any, batch: Batch) -> tuple[float, list[torch.Tensor]]:
    """The loss and its gradients by every column that can have one; zeros where it does not depend on it."""
    leaves = {name: leaf(getattr(batch, name)) for name in ("logp", "entropy", "value", "head")}
    given = {name: tensor for name, tensor in leaves.items() if tensor is not None}
    value = loss(replace(batch, **given)).value
    gradients = torch.autograd.grad(value, list(given.values()), allow_unused=True)
    return value.item(), [
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(given.values(), gradients, strict=True)
    ]


def leaf(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach().clone().requires_grad_()


def groups_of(chosen: Algorithm, batch: Batch) -> list[list[int]]:
    """Sequences that have to stay together, in order."""
    if chosen.together == "batch":
        return [list(range(len(batch.weight)))]
    keys = batch.unit.tolist() if chosen.together == "unit" else range(len(batch.weight))
    found: dict[int, list[int]] = {}
    for number, key in enumerate(keys):
        found.setdefault(key, []).append(number)
    return list(found.values())


@pytest.mark.parametrize("name", NAMES)
def test_micro_batches_add_up_to_the_whole_batch(name: str):
    loss, chosen = objective(name).loss, algorithm(name)
    whole = example_batch(chosen, seed=1)
    value, (gradient, *_) = value_and_gradients(loss, whole)
    parts = [
        (part, *value_and_gradients(loss, part))
        for part in (part_of(whole, sequences) for sequences in groups_of(chosen, whole))
    ]
    assert sum(part_value for _, part_value, _ in parts) == pytest.approx(value, rel=1e-9, abs=1e-12)
    together = torch.cat([gradients[0] for _, _, gradients in parts])
    assert together.tolist() == pytest.approx(gradient.tolist(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_sequences_changes_nothing(name: str):
    loss, chosen = objective(name).loss, algorithm(name)
    whole = example_batch(chosen, seed=2)
    order = [number for unit in reversed(groups_of(chosen, whole)) for number in unit]
    if chosen.together == "batch":
        order = order[::-1]
    value, _ = value_and_gradients(loss, whole)
    other, _ = value_and_gradients(loss, part_of(whole, order))
    assert other == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_finite_differences(name: str):
    loss, whole = objective(name).loss, example_batch(algorithm(name), seed=3)
    columns = [
        column for column in ("logp", "entropy", "value", "head") if getattr(whole, column) is not None
    ]
    leaves = tuple(leaf(getattr(whole, column)) for column in columns)

    def value(*given: torch.Tensor) -> torch.Tensor:
        # a loss that stops the gradient on purpose differs from its difference quotient by that much
        return loss(replace(whole, **dict(zip(columns, given, strict=True)))).value

    if name not in STOPS_GRADIENT:
        assert torch.autograd.gradcheck(value, leaves)
    else:
        assert torch.isfinite(torch.autograd.grad(value(*leaves), leaves, allow_unused=True)[0]).all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_inputs_give_equal_bits(name: str):
    loss, chosen = objective(name).loss, algorithm(name)
    one, other = (value_and_gradients(loss, example_batch(chosen, seed=4)) for _ in range(2))
    assert one[0] == other[0]
    assert all(torch.equal(*pair) for pair in zip(one[1], other[1], strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ratio", [50.0, -50.0])
def test_extreme_log_ratios_stay_finite(name: str, ratio: float):
    whole = example_batch(algorithm(name), seed=5)
    shifted = {
        column: (whole.logp.detach() - ratio).clamp(max=0.0)
        for column in ("old_logp", "ref_logp", "rollout_logp")
    }
    value, gradients = value_and_gradients(objective(name).loss, replace(whole, **shifted))
    assert isfinite(value)
    assert all(gradient.isfinite().all() for gradient in gradients)


CHOSEN_VALUES: dict[str, list[Option]] = {
    "dual_clip": [1.02],
    "max_weight": [0.9],
    "overlong_cap": [6],
    "top_k": [1],
}
"""Other values of options whose range or effect needs them."""

BESIDE: list[dict[str, Option]] = [{"kto_reference": "mismatched"}, {"nll_scope": "all"}]
"""Options that ask for sequences of side 0 in every unit."""


def other_values(option: str, default: Option, kind: Any) -> list[Option]:
    """Values of an option that are not its default: all choices, or numbers around it of which some bind."""
    if option in CHOSEN_VALUES:
        return CHOSEN_VALUES[option]
    if choices := get_args(kind):
        return [choice for choice in choices if choice != default]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1]
    return [float(default) * 0.5 + 0.07, float(default) * 0.1, float(default) * 10]


def results(name: str, options: dict[str, Option]) -> list[float]:
    """Everything an algorithm computes on some batches and rollouts, as numbers; the last batch has long
    episodes, the last rollouts a group that failed.
    """
    bound = objective(name, options)
    numbers: list[float] = []
    for seed, tokens in enumerate((6, 6, 400)):
        rollouts: Rollouts = example_rollouts(seed, failed=seed == 2)
        if bound.weigh is not None:
            numbers += bound.weigh(rollouts.returns.tolist(), rollouts.group).tolist()
        if bound.advantage is not None:
            given = bound.advantage(rollouts)
            numbers += given.advantage.tolist()
            numbers += [] if given.target is None else given.target.tolist()
        beside = options in BESIDE  # what these do with it has tests of its own
        batch = example_batch(
            bound.algorithm, seed, sequences=12 if beside else 8, tokens=tokens, beside=beside
        )
        value, gradients = value_and_gradients(bound.loss, batch)
        numbers += [value, *(number for gradient in gradients for number in gradient.flatten().tolist())]
    return numbers


def option_cases() -> list[tuple[str, str]]:
    return [(name, option) for name in NAMES for option in sorted(option_types(algorithm(name)))]


@pytest.mark.parametrize(("name", "option"), option_cases())
def test_every_option_has_an_effect_or_is_refused(name: str, option: str):
    chosen = algorithm(name)
    defaults, types = option_defaults(chosen), option_types(chosen)
    beside: dict[str, Option] = {}
    if switches := conditions(chosen.only_with.get(option)):
        beside = switched_on(switches[0], defaults, types)
        if not all(defaults[key] == value for key, value in beside.items()):
            with pytest.raises(ConfigError, match=f"option '{option}' of {name} has no effect"):
                objective(name, {option: other_values(option, defaults[option], types[option])[0]})
    without = results(name, beside)
    others = [
        value
        for value in other_values(option, defaults[option], types[option])
        if is_in_range(name, {**beside, option: value})
    ]
    effects = [results(name, {**beside, option: value}) != without for value in others]
    assert all(effects) if get_args(types[option]) else any(effects), option


def is_in_range(name: str, options: dict[str, Option]) -> bool:
    try:
        objective(name, options)
    except ConfigError:
        return False
    return True


def switched_on(switch: Switch, defaults: dict[str, Any], types: dict[str, Any]) -> dict[str, Option]:
    """What to set so that an option has an effect."""
    if isinstance(switch, tuple):
        other, *wanted = switch
        return {} if defaults[other] in wanted else {other: wanted[0]}
    if is_on(defaults[switch]):
        return {}
    others = other_values(switch, defaults[switch], types[switch])
    return {switch: next(value for value in others if is_on(value))}


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


@pytest.mark.parametrize("name", WITH_ADVANTAGES)
@pytest.mark.parametrize("reward", [0.0, 1e6, -1e6])
def test_equal_and_huge_rewards_stay_finite(name: str, reward: float):
    given = example_rollouts(7)
    equal = replace(
        given,
        reward=np.where(given.reward == 0, 0.0, reward),
        steps=replace(given.steps, reward=np.full_like(given.steps.reward, reward)),
    )
    mixed = replace(
        given, reward=given.reward * reward, steps=replace(given.steps, reward=given.steps.reward * reward)
    )
    for rollouts in (equal, mixed):
        assert np.isfinite(advantages(name, rollouts)).all()
        assert (advantages(name, rollouts) == advantages(name, rollouts)).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_token_in_each_sequence_and_one_unit_are_enough(name: str):
    chosen = algorithm(name)
    count = {"unit": 4 if chosen.data == "groups" else 2}.get(chosen.together, 1)
    few = example_batch(chosen, seed=8, sequences=max(count, 2), tokens=1)
    one = part_of(few, groups_of(chosen, few)[0])
    value, gradients = value_and_gradients(objective(name).loss, one)
    assert isfinite(value)
    assert all(gradient.isfinite().all() for gradient in gradients)


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
