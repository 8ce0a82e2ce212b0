"""Conformance check of algorithms: properties of a loss before anybody trains with it.

> report = check_algorithm("sft")
> report.passed, report.lines()[0]
(True, 'ok    micro       2 checked')

Each check is a function that yields violations; an exception of the algorithm is one, too. `agentevol check
algorithm NAME` prints the report.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import isclose, isfinite
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from agentevol.core.algorithms.contract import (
    Algorithm,
    Batch,
    Objective,
    Option,
    Switch,
    conditions,
    is_on,
)
from agentevol.core.algorithms.registry import objective, option_defaults, option_types
from agentevol.core.conformance import check_result, unless
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.testing import example_batch, example_rollouts, part_of
from agentgym_envs.testing import Report

Check = Callable[[Objective], Iterator[str | None]]
"""Yields None for a case that holds and a sentence for one that does not."""
Values = Mapping[str, list[Option]]
"""Option to values other than its default, for options whose range or effect needs them."""

GRADIENTS = ("logp", "entropy", "value", "head")
"""Columns of a batch that a loss may have gradients by."""
_BESIDE: tuple[dict[str, Option], ...] = ({"kto_reference": "mismatched"}, {"nll_scope": "all"})
"""Options that ask for sequences of side 0 in every unit."""


def check_algorithm(name: str, values: Values | None = None) -> Report:
    """Hold the algorithm of this name against the contract of `agentevol.core.algorithms.contract`.

    `values` are tried for options where half, a tenth and ten times the default say nothing. Raises
    `ConfigError` where there is no such algorithm.
    """
    bound = objective(name)
    checks: dict[str, Check] = {**CHECKS, "options": lambda subject: _options(subject, values or {})}
    return Report(
        env=name, results=tuple(check_result(kind, partial(check, bound)) for kind, check in checks.items())
    )


def value_and_gradients(loss: Callable[[Batch], Any], batch: Batch) -> tuple[float, list[Tensor]]:
    """The loss and its gradients by every column that can have one; zeros where it does not depend on it."""
    given = _leaves(batch)
    value = loss(replace(batch, **given)).value
    gradients = torch.autograd.grad(value, list(given.values()), allow_unused=True)
    return value.item(), [
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(given.values(), gradients, strict=True)
    ]


def groups_of(chosen: Algorithm, batch: Batch) -> list[list[int]]:
    """Sequences of a batch that have to stay in one micro-batch, in order."""
    if chosen.together == "batch":
        return [list(range(len(batch.weight)))]
    keys = batch.unit.tolist() if chosen.together == "unit" else range(len(batch.weight))
    found: dict[int, list[int]] = {}
    for number, key in enumerate(keys):
        found.setdefault(key, []).append(number)
    return list(found.values())


def other_values(option: str, default: Option, kind: Any, values: Values) -> list[Option]:
    """Values of an option that are not its default: all choices, or numbers around it of which some bind."""
    if option in values:
        return values[option]
    if choices := get_args(kind):
        return [choice for choice in choices if choice != default]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1]
    return [float(default) * 0.5 + 0.07, float(default) * 0.1, float(default) * 10]


def results(name: str, options: Mapping[str, Option]) -> list[float]:
    """Everything that an algorithm computes on some batches and rollouts, as numbers.

    The last batch has long episodes, the last rollouts a group that failed.
    """
    bound, beside = objective(name, options), dict(options) in _BESIDE
    numbers: list[float] = []
    for seed, tokens in enumerate((6, 6, 400)):
        rollouts = example_rollouts(seed, failed=seed == 2)
        if bound.weigh is not None:
            numbers += bound.weigh(rollouts.returns.tolist(), rollouts.group).tolist()
        if bound.advantage is not None:
            given = bound.advantage(rollouts)
            numbers += given.advantage.tolist()
            numbers += [] if given.target is None else given.target.tolist()
        batch = example_batch(
            bound.algorithm, seed, sequences=12 if beside else 8, tokens=tokens, beside=beside
        )
        value, gradients = value_and_gradients(bound.loss, batch)
        numbers += [value, *(number for gradient in gradients for number in gradient.flatten().tolist())]
    return numbers


def switched_on(
    switch: Switch, defaults: Mapping[str, Any], types: Mapping[str, Any], values: Values
) -> dict[str, Option]:
    """Options that give effect to one which depends on `switch`."""
    if isinstance(switch, tuple):
        other, *wanted = switch
        return {} if defaults[other] in wanted else {other: wanted[0]}
    if is_on(defaults[switch]):
        return {}
    others = other_values(switch, defaults[switch], types[switch], values)
    return {switch: next(value for value in others if is_on(value))}


def _leaves(batch: Batch) -> dict[str, Tensor]:
    """The columns of a batch that can have gradients, as leaves of their own."""
    columns: dict[str, Tensor | None] = {name: getattr(batch, name) for name in GRADIENTS}
    return {
        name: tensor.detach().clone().requires_grad_()
        for name, tensor in columns.items()
        if tensor is not None
    }


def _micro_batches(subject: Objective) -> Iterator[str | None]:
    """Values and gradients of micro-batches add up to those of the whole batch."""
    whole = example_batch(subject.algorithm, seed=1)
    value, (gradient, *_) = value_and_gradients(subject.loss, whole)
    parts = [
        value_and_gradients(subject.loss, part_of(whole, sequences))
        for sequences in groups_of(subject.algorithm, whole)
    ]
    total = sum(part for part, _ in parts)
    yield unless(
        isclose(total, value, rel_tol=1e-9, abs_tol=1e-12),
        f"micro-batches add up to a loss of {total:.9g}, the whole batch has {value:.9g}",
    )
    together = torch.cat([gradients[0] for _, gradients in parts])
    yield unless(
        torch.allclose(together, gradient, rtol=1e-9, atol=1e-12),
        "gradients of micro-batches do not add up to that of the whole batch",
    )


def _order(subject: Objective) -> Iterator[str | None]:
    """The order of sequences changes nothing, nor do the numbers of groups."""
    whole = example_batch(subject.algorithm, seed=2)
    order = [number for unit in reversed(groups_of(subject.algorithm, whole)) for number in unit]
    if subject.algorithm.together == "batch":
        order = order[::-1]
    value, _ = value_and_gradients(subject.loss, whole)
    other, _ = value_and_gradients(subject.loss, part_of(whole, order))
    yield unless(
        isclose(other, value, rel_tol=1e-9, abs_tol=1e-12),
        f"in another order of sequences the loss is {other:.9g}, not {value:.9g}",
    )
    if subject.advantage is not None:
        rollouts = example_rollouts(6)
        renamed = replace(rollouts, group=[f"z{name[::-1]}" for name in rollouts.group])
        yield unless(
            np.allclose(
                subject.advantage(renamed).advantage, subject.advantage(rollouts).advantage, atol=1e-12
            ),
            "advantages depend on the names of groups",
        )


def _gradients(subject: Objective) -> Iterator[str | None]:
    """Gradients agree with finite differences, unless the algorithm stops them on purpose."""
    whole = example_batch(subject.algorithm, seed=3)
    found = _leaves(whole)
    columns, leaves = list(found), tuple(found.values())

    def value(*given: Tensor) -> Tensor:
        return subject.loss(replace(whole, **dict(zip(columns, given, strict=True)))).value

    if subject.algorithm.stops_gradient:
        gradient = torch.autograd.grad(value(*leaves), leaves, allow_unused=True)[0]
        yield unless(bool(torch.isfinite(gradient).all()), "gradients are not finite")
    else:
        agree = torch.autograd.gradcheck(value, leaves, raise_exception=False)
        yield unless(agree, "gradients differ from finite differences; is stops_gradient meant?")


def _determinism(subject: Objective) -> Iterator[str | None]:
    """Equal inputs give equal bits."""
    one, other = (
        value_and_gradients(subject.loss, example_batch(subject.algorithm, seed=4)) for _ in range(2)
    )
    equal = one[0] == other[0] and all(torch.equal(*pair) for pair in zip(one[1], other[1], strict=True))
    yield unless(equal, "equal inputs give other results")


def _extremes(subject: Objective) -> Iterator[str | None]:
    """Extreme log-ratios, equal and huge rewards, and the smallest batch stay finite."""
    whole = example_batch(subject.algorithm, seed=5)
    for ratio in (50.0, -50.0):
        columns = ("old_logp", "ref_logp", "rollout_logp")
        shifted = {column: (whole.logp.detach() - ratio).clamp(max=0.0) for column in columns}
        yield _finite(subject, replace(whole, **shifted), f"log-ratios of {ratio:g}")
    count = {"unit": 4 if subject.algorithm.data == "groups" else 2}.get(subject.algorithm.together, 2)
    few = example_batch(subject.algorithm, seed=8, sequences=count, tokens=1)
    smallest = part_of(few, groups_of(subject.algorithm, few)[0])
    yield _finite(subject, smallest, "one token in each sequence of one unit")
    for reward in (0.0, 1e6, -1e6):
        yield from _finite_advantages(subject, reward)


def _finite(subject: Objective, batch: Batch, what: str) -> str | None:
    value, gradients = value_and_gradients(subject.loss, batch)
    holds = isfinite(value) and all(bool(gradient.isfinite().all()) for gradient in gradients)
    return unless(holds, f"{what}: the loss or its gradient is not finite")


def _finite_advantages(subject: Objective, reward: float) -> Iterator[str | None]:
    if subject.advantage is None:
        return
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
        found = subject.advantage(rollouts).advantage
        yield unless(bool(np.isfinite(found).all()), f"rewards of {reward:g}: advantages are not finite")


def _options(subject: Objective, values: Values) -> Iterator[str | None]:
    """Every option has an effect, or is refused where it has none."""
    defaults, types = option_defaults(subject.algorithm), option_types(subject.algorithm)
    for option in sorted(types):
        beside: dict[str, Option] = {}
        if switches := conditions(subject.algorithm.only_with.get(option)):
            beside = switched_on(switches[0], defaults, types, values)
            if not all(defaults[key] == value for key, value in beside.items()):
                alone = {option: other_values(option, defaults[option], types[option], values)[0]}
                yield unless(
                    not _is_in_range(subject.name, alone),
                    f"option {option!r} is not refused where {', '.join(beside)} leaves it without effect",
                )
        without = results(subject.name, beside)
        others = [
            value
            for value in other_values(option, defaults[option], types[option], values)
            if _is_in_range(subject.name, {**beside, option: value})
        ]
        effects = [results(subject.name, {**beside, option: value}) != without for value in others]
        holds = all(effects) if get_args(types[option]) else any(effects)
        yield unless(holds, f"option {option!r} has no effect with {', '.join(map(repr, others))}")


def _is_in_range(name: str, options: Mapping[str, Option]) -> bool:
    try:
        objective(name, options)
    except ConfigError:
        return False
    return True


CHECKS: dict[str, Check] = {
    "micro": _micro_batches,
    "order": _order,
    "gradients": _gradients,
    "equal bits": _determinism,
    "extremes": _extremes,
}
