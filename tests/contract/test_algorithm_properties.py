"""Properties that every algorithm has, whatever it learns: each of them for each registered algorithm.

The others (micro-batches one by one, names of groups, shifts, scales, sums of zero) are in
`test_algorithms.py`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agentevol.core.algorithms.contract import Batch, Option, Rollouts, Steps
from agentevol.core.algorithms.options import own
from agentevol.core.algorithms.registry import ALGORITHMS, algorithm, objective
from agentevol.learn.algorithms.losses.aggregation import aggregate
from agentevol.learn.algorithms.losses.comparisons import groups
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.testing import batch_of, example_batch, example_rollouts, part_of

NAMES = sorted(ALGORITHMS)
WITH_ADVANTAGES = [name for name in NAMES if algorithm(name).advantage is not None]
FAMILY = [name for name in WITH_ADVANTAGES if "surrogate" in objective(name).options]
CLIPPED = [name for name in FAMILY if objective(name).options["surrogate"] == "clip"]
STOPS_GRADIENT = frozenset({"cispo", "gspo", "kto"})
"""Algorithms whose gradient is on purpose not that of their value."""

WITH_GRADIENT = ("logp", "entropy", "value", "head")
BY_TOKEN = (
    *WITH_GRADIENT,
    "old_logp",
    "ref_logp",
    "rollout_logp",
    "advantage",
    "target",
    "old_value",
    "label",
)


GROUPED = ("group", "unit")


def value_and_gradients(name: str, batch: Batch, **options: Option) -> tuple[float, dict[str, torch.Tensor]]:
    """The loss, and its gradient by each column that has one; zeros where it does not depend on it."""
    given = {column: getattr(batch, column) for column in WITH_GRADIENT}
    leaves = {key: one.detach().clone().requires_grad_() for key, one in given.items() if one is not None}
    value = objective(name, options).loss(replace(batch, **leaves)).value
    found = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
    return value.item(), {
        key: torch.zeros_like(leaf) if gradient is None else gradient
        for (key, leaf), gradient in zip(leaves.items(), found, strict=True)
    }


def among_what_the_world_said(batch: Batch, seed: int) -> Batch:
    """The same learnt tokens in rows with numbers around them that are not learnt; rows of nothing else."""
    random = np.random.default_rng(seed)
    lengths = batch.lengths.long().tolist()
    rows, width = len(lengths) + 2, 2 * max(lengths) + 3
    mask = np.zeros((rows, width), dtype=np.bool_)
    for number, length in enumerate(lengths):
        mask[number + 1, np.sort(random.choice(width, length, replace=False))] = True
    columns = {name: getattr(batch, name) for name in (*BY_TOKEN, "label_samples")}
    filled: dict[str, Any] = {
        name: laid_out(one, mask, random) for name, one in columns.items() if one is not None
    }
    of_sequences = {
        name: [0, *getattr(batch, name).tolist(), 0]
        for name in ("weight", "reward", "side", "margin", "preference")
    }
    # the first row of all is in the first group: resamples of tasks are drawn by the number of the group
    names = {name: [getattr(batch, name).tolist()[0], *getattr(batch, name).tolist(), 99] for name in GROUPED}
    return batch_of(filled.pop("logp"), mask, **of_sequences, **names, **filled)


def laid_out(tokens: torch.Tensor, mask: np.ndarray, random: np.random.Generator) -> np.ndarray:
    column = random.normal(size=(*mask.shape, *tokens.shape[1:])) - 9
    column[mask] = tokens.detach().numpy()
    return column


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_what_the_world_said_take_no_part(name: str):
    whole = example_batch(algorithm(name), seed=21)
    other = among_what_the_world_said(whole, seed=22)
    assert other.totals == whole.totals
    value, gradients = value_and_gradients(name, whole)
    found, others = value_and_gradients(name, other)
    assert found == value
    assert all(torch.equal(others[column], gradients[column]) for column in gradients)


@pytest.mark.parametrize("name", NAMES)
def test_any_partition_into_micro_batches_has_the_gradient_of_the_whole(name: str):
    chosen = algorithm(name)
    whole = example_batch(chosen, seed=23, sequences=16)
    keys = whole.unit if chosen.together == "unit" else torch.arange(len(whole.weight))
    value, gradients = value_and_gradients(name, whole)
    random = np.random.default_rng(24)
    for parts in (2, 3):
        lot = torch.from_numpy(random.integers(0, parts, int(keys.max()) + 1))[keys]
        chosen_rows = [(lot == number).nonzero().squeeze(1).tolist() for number in range(parts)]
        chosen_rows = [list(range(len(lot)))] if chosen.together == "batch" else [r for r in chosen_rows if r]
        found = [value_and_gradients(name, part_of(whole, rows)) for rows in chosen_rows]
        assert sum(part for part, _ in found) == pytest.approx(value, rel=1e-9, abs=1e-12)
        order = torch.cat(
            [torch.isin(whole.sequence, torch.tensor(r)).nonzero().squeeze(1) for r in chosen_rows]
        )
        for column, gradient in gradients.items():
            together = torch.cat([own[column] for _, own in found])
            torch.testing.assert_close(together, gradient[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_go_with_their_sequences_wherever_they_lie(name: str):
    whole = example_batch(algorithm(name), seed=25)
    order = np.random.default_rng(26).permutation(len(whole.weight)).tolist()
    moved = part_of(whole, order)
    tokens = torch.cat([(whole.sequence == number).nonzero().squeeze(1) for number in order])
    value, gradients = value_and_gradients(name, whole)
    found, others = value_and_gradients(name, moved)
    assert found == pytest.approx(value, rel=1e-9, abs=1e-12)
    for column, gradient in gradients.items():
        torch.testing.assert_close(others[column], gradient[tokens], rtol=1e-9, atol=1e-12)


def permuted(rollouts: Rollouts, order: np.ndarray) -> tuple[Rollouts, np.ndarray]:
    """The episodes in another order, and where each of their tokens was before."""
    tokens = np.concatenate([np.flatnonzero(rollouts.sequence == number) for number in order])
    turns = np.concatenate([np.flatnonzero(rollouts.steps.sequence == number) for number in order])
    place = np.argsort(order)
    steps = rollouts.steps
    moved = Steps(
        sequence=place[steps.sequence[turns]],
        turn=steps.turn[turns],
        reward=steps.reward[turns],
        anchor=[steps.anchor[int(turn)] for turn in turns],
        mode=steps.mode[turns],
        tokens=steps.tokens[turns],
        invalid=steps.invalid[turns],
    )
    columns = ("reward", "old_logp", "ref_logp", "rollout_logp", "value")
    return replace(
        rollouts,
        sequence=place[rollouts.sequence[tokens]],
        step=np.argsort(turns)[rollouts.step[tokens]],
        group=[rollouts.group[int(number)] for number in order],
        truncated=rollouts.truncated[order],
        final_value=rollouts.final_value[order],
        costs={cost: values[order] for cost, values in rollouts.costs.items()},
        steps=moved,
        **{column: getattr(rollouts, column)[tokens] for column in columns},
    ), tokens


@pytest.mark.parametrize("name", WITH_ADVANTAGES)
def test_advantages_go_with_their_episodes_wherever_they_lie(name: str):
    rollouts = example_rollouts(27)
    moved, tokens = permuted(rollouts, np.random.default_rng(28).permutation(len(rollouts.group)))
    estimate = objective(name).advantage
    assert estimate is not None
    expected = estimate(rollouts)
    found = estimate(moved)
    assert found.advantage == pytest.approx(expected.advantage[tokens], abs=1e-9)
    if expected.target is not None:
        assert found.target == pytest.approx(expected.target[tokens], abs=1e-9)
    # the comparison notices advantages that stay where they were
    assert moved.reward != pytest.approx(rollouts.reward)
    assert expected.advantage != pytest.approx(expected.advantage[tokens], abs=1e-3)


@pytest.mark.parametrize("name", WITH_ADVANTAGES)
def test_equal_rollouts_give_equal_bits(name: str):
    estimate = objective(name).advantage
    assert estimate is not None
    one, other = (estimate(example_rollouts(29)) for _ in range(2))
    assert one.advantage.tobytes() == other.advantage.tobytes()
    assert dict(one.metrics) == dict(other.metrics)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STOPS_GRADIENT])
def test_gradients_are_those_of_the_value_to_one_part_in_a_million(name: str):
    whole = example_batch(algorithm(name), seed=30)
    # the largest entry of each column, and one drawn at random; a step of 1e-5 meets no kink in this batch
    random = np.random.default_rng(31)
    value, gradients = value_and_gradients(name, whole)
    for column, gradient in gradients.items():
        flat = gradient.flatten()
        for place in (int(flat.abs().argmax()), int(random.integers(len(flat)))):
            quotient = (
                moved_loss(name, whole, column, place, 1e-5) - moved_loss(name, whole, column, place, -1e-5)
            ) / 2e-5
            scale = max(abs(flat[place].item()), 1e-3 * abs(value), 1e-4)
            assert quotient == pytest.approx(flat[place].item(), abs=1e-6 * scale), (column, place)


def moved_loss(name: str, batch: Batch, column: str, place: int, by: float) -> float:
    tensor = getattr(batch, column).detach().clone()
    tensor.view(-1)[place] += by
    return objective(name).loss(replace(batch, **{column: tensor})).value.item()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.0, 1e6, -1e6])
def test_losses_of_huge_and_of_equal_returns_stay_finite(name: str, scale: float):
    whole = example_batch(algorithm(name), seed=32)
    columns = {"reward": whole.reward * scale}
    if whole.advantage is not None:
        columns |= {"advantage": whole.advantage * scale, "target": whole.target * scale}
    value, gradients = value_and_gradients(name, replace(whole, **columns))
    assert np.isfinite(value)
    assert all(gradient.isfinite().all() for gradient in gradients.values())


@pytest.mark.parametrize("name", FAMILY)
def test_on_policy_the_gradient_is_that_of_the_log_probability_times_the_advantage(name: str):
    whole = example_batch(algorithm(name), seed=33)
    here = replace(whole, old_logp=whole.logp.detach())
    options = objective(name).options
    kind: Any = options["aggregation"]
    horizon = int(options["horizon"])
    taken: dict[str, Any] = {**own(policy_gradient, options), "kl_coef": 0.0, "entropy_coef": 0.0}
    leaf = whole.logp.detach().clone().requires_grad_()
    loss = policy_gradient(replace(here, logp=leaf), **taken).value
    (gradient,) = torch.autograd.grad(loss, leaf)
    plain = whole.logp.detach().clone().requires_grad_()
    (expected,) = torch.autograd.grad(aggregate(here, -here.advantage * plain, kind, horizon), plain)
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-15)
    if name in CLIPPED:
        assert loss.item() == pytest.approx(-aggregate(here, here.advantage, kind, horizon).item(), rel=1e-12)
    off = replace(here, old_logp=whole.old_logp, logp=leaf)
    (other,) = torch.autograd.grad(policy_gradient(off, **taken).value, leaf)
    if options["surrogate"] != "reinforce":  # whose gradient does not look at the anchor at all
        assert not torch.allclose(other, expected, rtol=1e-3)


@pytest.mark.parametrize("name", [name for name in NAMES if algorithm(name).together == "unit"])
def test_what_is_compared_is_never_compared_in_part(name: str):
    chosen = algorithm(name)
    if chosen.data == "groups":
        with pytest.raises(ValueError, match="the batch has a part of one"):
            groups(part_of(example_batch(chosen, seed=34), [0, 1]))
    with pytest.raises(ValueError, match=r"part of one|one chosen and one rejected"):
        objective(name).loss(part_of(example_batch(chosen, seed=34), [0]))
