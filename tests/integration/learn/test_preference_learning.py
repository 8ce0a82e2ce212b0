"""Algorithms learn two small worlds from their own exploration, and learn nothing from shuffled rewards."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Batch, Objective, Option
from agentevol.core.algorithms.registry import objective
from agentevol.learn.algorithms.testing import batch_of

UPDATES = 60
SAMPLES = 16
"""Episodes of a group."""


@dataclass(frozen=True)
class Episode:
    group: int
    states: tuple[int, ...]
    actions: tuple[int, ...]
    reward: float


@dataclass(frozen=True)
class World:
    """A tabular world: the policy is a matrix of logits, states by actions."""

    states: int
    actions: int
    groups: int
    play: Callable[[np.ndarray, int, np.random.Generator], Episode]


def bandit(policy: np.ndarray, group: int, random: np.random.Generator) -> Episode:
    """Three arms in two contexts; the right arm is the number of the context."""
    action = int(random.choice(3, p=policy[group]))
    return Episode(group, (group,), (action,), float(action == group))


def chain(policy: np.ndarray, group: int, random: np.random.Generator) -> Episode:
    """Five states in a row, from the middle one; action 1 goes right, where the end has the reward."""
    state, states, actions = 2, [], []
    while 0 < state < 4 and len(states) < 8:
        action = int(random.choice(2, p=policy[state]))
        states.append(state)
        actions.append(action)
        state += 1 if action else -1
    return Episode(group, tuple(states), tuple(actions), float(state == 4))


WORLDS = {"bandit": World(2, 3, 2, bandit), "chain": World(5, 2, 2, chain)}

LEARNERS: dict[str, tuple[float, dict[str, Option]]] = {
    "adpo": (0.15, {}),
    "agentevol": (0.3, {}),
    "dpo": (1.5, {}),
    "filtered_bc": (0.3, {}),
    "ipo": (0.015, {}),
    "kto": (4.0, {}),
    "orpo": (0.2, {"beta": 1.0}),
    "ranking": (0.6, {"ties": "drop"}),
    "softmax_bc": (0.35, {}),
    "weighted_bc": (0.3, {"weighting": "advantage", "beta": 0.3}),
}
"""Algorithm to learning rate and options."""


def probabilities(logits: torch.Tensor) -> np.ndarray:
    return torch.softmax(logits.detach(), dim=1).numpy()


def chosen_logp(logits: torch.Tensor, episodes: list[Episode]) -> torch.Tensor:
    """(B, T) log-probability of each action; 0 after the end."""
    logp = torch.log_softmax(logits, dim=1)
    width = max(len(episode.actions) for episode in episodes)
    rows = [
        torch.cat([logp[list(one.states), list(one.actions)], logp.new_zeros(width - len(one.actions))])
        for one in episodes
    ]
    return torch.stack(rows)


def batch_from(
    chosen: Objective, logits: torch.Tensor, start: torch.Tensor, episodes: list[Episode]
) -> Batch:
    """What the algorithm's kind of data makes of the episodes."""
    columns: dict[str, Any] = {"reward": [one.reward for one in episodes]}
    groups = [one.group for one in episodes]
    match chosen.algorithm.data:
        case "episodes":
            assert chosen.weigh is not None
            columns["weight"] = chosen.weigh(columns["reward"], [str(group) for group in groups]).tolist()
        case "pairs":
            episodes = paired(episodes)
            columns = {"side": [1, -1] * (len(episodes) // 2), "unit": [n // 2 for n in range(len(episodes))]}
            groups = [one.group for one in episodes]
        case "labels":
            columns["side"] = [1 if one.reward > 0 else -1 for one in episodes]
        case _:
            columns["unit"] = groups
    logp = chosen_logp(logits, episodes)
    mask = [[column < len(one.actions) for column in range(logp.shape[1])] for one in episodes]
    if chosen.advantage is not None:
        rollouts = rollouts_of(columns["reward"], mask, groups)
        given = torch.zeros(logp.shape, dtype=torch.float64)
        advantage = torch.as_tensor(chosen.advantage(rollouts).advantage)
        columns["advantage"] = given.masked_scatter(torch.tensor(mask), advantage)
    return batch_of(
        logp,
        mask,
        group=groups,
        old_logp=logp.detach(),
        ref_logp=chosen_logp(start, episodes),
        **columns,
    )


def paired(episodes: list[Episode]) -> list[Episode]:
    """Better and worse episodes of each group in turn, as many as there are of the rarer."""
    found: list[Episode] = []
    for group in sorted({one.group for one in episodes}):
        won = [one for one in episodes if one.group == group and one.reward > 0]
        lost = [one for one in episodes if one.group == group and one.reward <= 0]
        found += [one for pair in zip(won, lost, strict=False) for one in pair]
    return found


def success(world: World, logits: torch.Tensor, random: np.random.Generator) -> float:
    policy = probabilities(logits)
    played = [world.play(policy, number % world.groups, random) for number in range(600)]
    return float(np.mean([one.reward for one in played]))


@cache
def gain(name: str, place: str, *, shuffled: bool) -> float:
    """How much the success rate rises."""
    rate, options = LEARNERS[name]
    world, bound, random = WORLDS[place], objective(name, options), np.random.default_rng(0)
    start = torch.zeros(world.states, world.actions, dtype=torch.float64)
    logits = start.clone().requires_grad_()
    for _ in range(UPDATES):
        policy = probabilities(logits)
        episodes = [world.play(policy, number // SAMPLES, random) for number in range(world.groups * SAMPLES)]
        if shuffled:
            rewards = random.permutation([one.reward for one in episodes]).tolist()
            episodes = [
                Episode(one.group, one.states, one.actions, reward)
                for one, reward in zip(episodes, rewards, strict=True)
            ]
        if len({one.reward for one in episodes}) < 2 or not paired(episodes):
            continue
        value = bound.loss(batch_from(bound, logits, start, episodes)).value
        (gradient,) = torch.autograd.grad(value, logits)
        with torch.no_grad():
            logits -= rate * gradient
    return success(world, logits, random) - success(world, start, random)


@pytest.mark.parametrize("place", WORLDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_exploring_and_learning_raise_the_success_rate(name: str, place: str):
    assert gain(name, place, shuffled=False) > 0.25


@pytest.mark.parametrize("place", WORLDS)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.slow
def test_shuffled_rewards_do_not(name: str, place: str):
    assert gain(name, place, shuffled=True) < 0.15
    assert gain(name, place, shuffled=True) < gain(name, place, shuffled=False) - 0.1
