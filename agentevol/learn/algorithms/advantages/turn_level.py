"""Per-turn arithmetic of structured advantages: states, returns, relative values.

Shape S: the turns of all episodes of an update, as in `Steps`.
"""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

import numpy as np

from agentevol.core.algorithms.contract import Floats, Integers, Rollouts
from agentevol.learn.algorithms.advantages.baselines import SAME, Singleton


def numbered(keys: Sequence[Hashable]) -> Integers:
    """Each key's number, from 0, in the order in which keys first appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def turn_rewards(rollouts: Rollouts) -> Floats:
    """(S,) sum of the rewards at the learnt tokens of each turn; the environment's reward where none is
    learnt.

    These are the environment's own rewards, unless a shaping such as a KL penalty was added at tokens.
    """
    count = len(rollouts.steps.reward)
    at_tokens_S = np.bincount(rollouts.step, weights=rollouts.reward, minlength=count)
    return np.where(np.bincount(rollouts.step, minlength=count) > 0, at_tokens_S, rollouts.steps.reward)


def turn_returns(sequence_S: Integers, reward_S: Floats, gamma: float) -> Floats:
    """(S,) sum over the turns from this one to the end of its episode of gamma^(turns later) * reward."""
    to_go_S, after = np.zeros(len(reward_S)), dict[int, float]()
    for step in range(len(reward_S) - 1, -1, -1):
        episode = int(sequence_S[step])
        after[episode] = to_go_S[step] = reward_S[step] + gamma * after.get(episode, 0.0)
    return to_go_S


def states(rollouts: Rollouts, similarity: float = 1.0) -> Integers:
    """(S,) number of the state in which each turn was taken: equal within a group for equal anchors.

    With `similarity` below 1 an anchor joins the first state of its group, in the order of turns, whose first
    anchor is at least that similar: twice the matching characters over all characters (Ratcliff and
    Obershelp; `difflib` without its heuristic for long texts, which takes equal ones for different).
    """
    steps = rollouts.steps
    group_S = [rollouts.group[int(episode)] for episode in steps.sequence]
    if similarity >= 1:
        return numbered(list(zip(group_S, steps.anchor, strict=True)))
    first: dict[str, list[str]] = {}
    joined = [
        _joined(anchor, first.setdefault(group, []), similarity)
        for group, anchor in zip(group_S, steps.anchor, strict=True)
    ]
    return numbered(list(zip(group_S, joined, strict=True)))


def turn_numbers(rollouts: Rollouts) -> Integers:
    """(S,) number of each turn's place: equal within a group for turns of equal number in their episodes."""
    steps = rollouts.steps
    group_S = [rollouts.group[int(episode)] for episode in steps.sequence]
    return numbered(list(zip(group_S, steps.turn.tolist(), strict=True)))


def relative(
    values_N: Floats, label_N: Integers, *, divide: bool, epsilon: float, singleton: Singleton
) -> Floats:
    """(N,) each value less the mean of those with its label, over their standard deviation + `epsilon`.

    The deviation has ddof 1; `divide` False leaves it out. Labels are 0, 1, ... Equal values give exactly 0.
    A value of a unique label is kept (`raw`: mean 0, deviation 1) or gives 0.
    """
    result_N = np.zeros(len(values_N))
    for members in members_of(label_N):
        values = values_N[members]
        if len(values) > 1 and np.ptp(values) > SAME:
            deviation, spread = values - values.mean(), values.std(ddof=1)
        elif len(values) == 1 and singleton == "raw":
            deviation, spread = values, 1.0
        else:
            continue
        result_N[members] = deviation / (spread + epsilon) if divide else deviation
    return result_N


def members_of(label_N: Integers) -> list[Integers]:
    """Indices of the members of each label 0, 1, ..., in order."""
    order = np.argsort(label_N, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label_N))[:-1]) if len(label_N) else []


def _joined(anchor: str, first: list[str], similarity: float) -> int:
    """Number of the state that `anchor` joins; the first anchor of a new state is appended to `first`."""
    for number, other in enumerate(first):
        if _are_similar(anchor, other, similarity):
            return number
    first.append(anchor)
    return len(first) - 1


def _are_similar(anchor: str, other: str, similarity: float) -> bool:
    matcher = SequenceMatcher(None, anchor, other, autojunk=False)
    # two upper bounds first: the ratio itself takes quadratic time
    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return anchor == other or all(ratio() >= similarity for ratio in ratios)
