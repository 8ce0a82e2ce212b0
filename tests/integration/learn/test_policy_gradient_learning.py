"""Every policy gradient learns two small worlds by its own advantages and losses, and nothing from noise.

A bandit: four contexts, three arms, of which one pays. A chain: five states, start in the first, 1 for
reaching the last within seven steps left or right.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Objective, Rollouts, Steps
from agentevol.core.algorithms.registry import objective
from agentevol.learn.algorithms.testing import batch_of

NAMES = (
    "ampo",
    "cispo",
    "dapo",
    "dr_grpo",
    "gigpo",
    "grpo",
    "gspo",
    "lagrangian",
    "ppo",
    "reinforce_pp",
    "reinforce_pp_baseline",
    "rloo",
)
UPDATES, SAMPLES, EPOCHS = 40, 16, 2
OPTIONS = {"ampo": {"gamma": 1.0}}  # the chain pays at its end alone
MARGIN = 0.3
"""Success has to rise by this much."""


@dataclass(frozen=True)
class Played:
    """Episodes as rows (B, T); off the mask everything is 0."""

    state: torch.Tensor
    action: torch.Tensor
    mask: torch.Tensor
    returns: np.ndarray
    group: list[int]
    truncated: np.ndarray


class Policy(torch.nn.Module):
    """Action preferences and a value for each state."""

    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        self.preference = torch.nn.Parameter(torch.zeros(states, actions, dtype=torch.float64))
        self.value = torch.nn.Parameter(torch.zeros(states, dtype=torch.float64))

    def logp(self, played: Played) -> torch.Tensor:
        chosen = self.preference.log_softmax(dim=1)[played.state, played.action]
        return torch.where(played.mask, chosen, 0.0)


def play_bandit(policy: Policy, random: np.random.Generator) -> Played:
    contexts = np.repeat(np.arange(4), SAMPLES)
    arms = sampled(policy, contexts, random)
    rows = torch.from_numpy(contexts)[:, None], torch.from_numpy(arms)[:, None]
    paid = (arms == (2 * contexts) % 3).astype(np.float64)
    mask = torch.ones(len(arms), 1, dtype=torch.bool)
    return Played(*rows, mask, paid, contexts.tolist(), np.zeros(len(arms), dtype=np.bool_))


def play_chain(policy: Policy, random: np.random.Generator, steps: int = 7) -> Played:
    episodes = 4 * SAMPLES
    place, alive = np.zeros(episodes, dtype=np.int64), np.ones(episodes, dtype=np.bool_)
    states, actions, masks = [], [], []
    for _ in range(steps):
        moves = sampled(policy, place, random)
        states.append(np.where(alive, place, 0))
        actions.append(np.where(alive, moves, 0))
        masks.append(alive)
        place = np.where(alive, np.clip(place + 2 * moves - 1, 0, 4), place)
        alive = alive & (place != 4)
    rows = (torch.from_numpy(np.stack(columns, axis=1)) for columns in (states, actions, masks))
    group = np.repeat(np.arange(4), SAMPLES).tolist()
    return Played(*rows, (place == 4).astype(np.float64), group, alive)


def sampled(policy: Policy, states: np.ndarray, random: np.random.Generator) -> np.ndarray:
    chances = policy.preference.detach().softmax(dim=1).numpy()[states]
    return (random.random(len(states))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


WORLDS = {"bandit": (play_bandit, 4, 3), "chain": (play_chain, 5, 2)}


def rollouts(played: Played, policy: Policy, start: Policy, returns: np.ndarray) -> Rollouts:
    with torch.no_grad():
        logp, reference = policy.logp(played).numpy(), start.logp(played).numpy()
        values = policy.value[played.state].numpy()
    mask = played.mask.numpy()
    given = rollouts_of(returns, mask, played.group, old_logp=logp, ref_logp=reference, value=values)
    every = np.arange(len(given.sequence))
    return replace(given, truncated=played.truncated, step=every, steps=turns(played, given))


def turns(played: Played, given: Rollouts) -> Steps:
    """Each move is a turn, in a state that an algorithm may compare."""
    mask = played.mask.numpy()
    count = len(given.sequence)
    return Steps(
        sequence=given.sequence,
        turn=np.nonzero(mask)[1],
        reward=given.reward,
        anchor=[str(state) for state in played.state.numpy()[mask]],
        mode=np.zeros(count, dtype=np.int64),
        tokens=np.ones(count, dtype=np.int64),
        invalid=np.zeros(count, dtype=np.bool_),
    )


def update(
    learner: Objective, optimiser: torch.optim.Optimizer, policy: Policy, played: Played, given: Rollouts
):
    found = learner.advantage(given)

    def rows(values_N: np.ndarray) -> torch.Tensor:
        whole = torch.zeros(played.mask.shape, dtype=torch.float64)
        whole[played.mask] = torch.from_numpy(values_N)
        return whole

    columns = {"old_logp": given.old_logp, "ref_logp": given.ref_logp, "old_value": given.value}
    columns |= {"advantage": found.advantage, "target": found.target}
    fixed = {name: rows(values) for name, values in columns.items() if values is not None}
    for _ in range(EPOCHS):
        value = policy.value[played.state]
        batch = batch_of(policy.logp(played), played.mask, group=played.group, value=value, **fixed)
        optimiser.zero_grad()
        learner.loss(batch).value.backward()
        optimiser.step()


def gain(name: str, world: str, *, shuffled: bool, seed: int = 0) -> float:
    """How much success rises from the first five updates to the last five."""
    play, states, actions = WORLDS[world]
    random = np.random.default_rng(seed)
    policy, start = Policy(states, actions), Policy(states, actions)
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.05)
    learner = objective(name, OPTIONS.get(name))
    success = []
    for _ in range(UPDATES):
        played = play(policy, random)
        success.append(played.returns.mean())
        returns = random.permutation(played.returns) if shuffled else played.returns
        update(learner, optimiser, policy, played, rollouts(played, policy, start, returns))
    return float(np.mean(success[-5:]) - np.mean(success[:5]))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_success_rises(name: str, world: str):
    assert gain(name, world, shuffled=False) > MARGIN


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_returns_that_belong_to_other_episodes_teach_nothing(name: str, world: str):
    # noise moves a policy too, but not in one direction
    assert np.mean([gain(name, world, shuffled=True, seed=seed) for seed in range(3)]) < MARGIN / 2
