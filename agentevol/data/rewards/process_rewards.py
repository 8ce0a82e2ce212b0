"""Per-turn rewards from the heads of a process reward model, and from rules without a model.

A turn changes the value of `outcome` by 0.25 and that of `efficiency` by -0.5, its `relevance` is 0.1 above
the mean, and the environment could not execute its action. With weights 1, 0.2 and 0.5, and 0.1 for the rule,
it earns 0.25 - 0.1 + 0.05 - 0.1 = 0.1.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from agentevol.config.rewards.process import Rule
from agentevol.core.algorithms.contract import Floats, Steps
from agentevol.core.protocols import EpisodeFacts
from agentevol.data.rewards.metrics import auc
from agentevol.data.rewards.objectives import achieved
from agentevol.data.rewards.shaping import TurnValues, agreement, start_values, step_rewards
from agentevol.data.rewards.state_values import Counted, State, count_outcomes, pooled_values
from agentevol.data.selection.filters import scored
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.learn.rewards.process import format_errors, invalid_actions, repetitions, weighted
from agentgym_store.records import Trajectory


def process_rewards(
    explored: Sequence[Trajectory],
    episodes: Mapping[str, EpisodeFacts],
    values: Sequence[TurnValues],
    heads: Mapping[str, float],
    rules: Mapping[Rule, float],
    opinions: Mapping[str, float] | None = None,
    *,
    discount: float = 1.0,
) -> dict[str, Floats]:
    """Episode -> (turns,) weighted sum over `heads` and `opinions`, with one entry of `values` each in order,
    and over `rules`.

    A head contributes 0 to an episode whose objective is unknown, and to a turn without a quality.
    """
    told = achieved(scored(explored), list(heads))
    parts: dict[str, dict[str, Floats]] = {}
    for number, name in enumerate(heads):
        own = _of_head(told, number)
        starts = start_values(explored, own)
        parts[name] = step_rewards(episodes, values[number], starts, outcomes=own, discount=discount)
    for name, said in zip(opinions or {}, values[len(heads) :], strict=True):
        parts[name] = centred(episodes, said)
    by_id = {trajectory.id: trajectory for trajectory in explored}
    for name in rules:
        parts[name] = {
            identity: _broken(name, facts, by_id[identity]) for identity, facts in episodes.items()
        }
    weights = dict[str, float]({**heads, **(opinions or {}), **rules})
    return {
        identity: weighted({name: part[identity] for name, part in parts.items()}, weights)
        for identity in episodes
    }


def centred(episodes: Mapping[str, EpisodeFacts], qualities: TurnValues) -> dict[str, Floats]:
    """Episode -> (turns,) quality of each turn less the mean over all turns of its group; NaN where a turn
    has none.

    They add up to 0 in a group, so that long episodes are not rewarded for their length.
    """
    told = {
        name: np.asarray([qualities.get(name, {}).get(turn, math.nan) for turn in range(len(facts.rewards))])
        for name, facts in episodes.items()
    }
    groups: dict[str, list[Floats]] = {}
    for name, facts in episodes.items():
        groups.setdefault(facts.group, []).append(told[name][np.isfinite(told[name])])
    means = {group: float(np.mean(np.concatenate(known))) for group, known in groups.items() if _any(known)}
    return {name: told[name] - means.get(facts.group, math.nan) for name, facts in episodes.items()}


def _any(known: Sequence[Floats]) -> bool:
    return any(len(one) for one in known)


def counted_by_head(
    states: Sequence[State],
    explored: Sequence[Trajectory],
    played: Sequence[Trajectory],
    count: int,
    heads: Sequence[str],
) -> dict[str, Counted]:
    """State values from `count` continuations of each state, by head; `explored` determines the names of
    costs.
    """
    told = achieved([*explored, *played], heads)
    return {
        name: count_outcomes(states, played, count, _of_head(told, number))
        for number, name in enumerate(heads)
    }


def pooled_by_head(explored: Sequence[Trajectory], heads: Sequence[str]) -> dict[str, Counted]:
    """State values from the explored episodes that passed through a state, by head."""
    told = achieved(explored, heads)
    return {name: pooled_values(explored, _of_head(told, number)) for number, name in enumerate(heads)}


def agreements(values: Sequence[TurnValues], labels: Mapping[str, StateValues]) -> dict[str, float]:
    """Agreement of each head's values with its labels; with several heads, `process_NAME_` is the prefix."""
    found: dict[str, float] = {}
    for own, (name, one) in zip(values, labels.items(), strict=True):
        figures = agreement(own, one)
        begin = "process_" if len(labels) == 1 else f"process_{name}_"
        found |= {begin + figure.removeprefix("process_"): value for figure, value in figures.items()}
    return found


def watched(
    played: Sequence[Trajectory], values: Sequence[TurnValues], heads: Mapping[str, float]
) -> dict[str, float]:
    """Metrics of a process reward model on held-out episodes before their last turns: mean value, and how
    well it predicts success. A mean value that rises while success falls indicates exploitation.

    Empty without an episode of two turns.
    """
    said: list[float] = []
    won: list[float] = []
    for trajectory in scored(played):
        before_end = list(range(len(trajectory.turns) - 1))
        told = [_mean_said(own.get(trajectory.id, {}), before_end) for own in values]
        if before_end and not any(map(math.isnan, told)):
            said.append(float(np.average(told, weights=list(heads.values()))))
            won.append(float(trajectory.succeeded()))
    if not said:
        return {}
    figures = {
        "process_validation_value": float(np.mean(said)),
        "process_validation_auc": auc(np.asarray(said), np.asarray(won)),
    }
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def _mean_said(values: Mapping[int, float], turns: Sequence[int]) -> float:
    known = [values[turn] for turn in turns if turn in values]
    return float(np.mean(known)) if known else math.nan


def _of_head(told: Mapping[str, Floats], number: int) -> dict[str, float]:
    return {identity: float(told_D[number]) for identity, told_D in told.items()}


def _broken(rule: Rule, facts: EpisodeFacts, trajectory: Trajectory) -> Floats:
    """(turns,) -1 for each turn that breaks the rule."""
    turns = len(facts.rewards)
    steps = Steps(
        sequence=np.zeros(turns, np.int64),
        turn=np.arange(turns),
        reward=np.asarray(facts.rewards, np.float64),
        anchor=facts.anchors,
        mode=np.asarray(facts.modes, np.int64),
        tokens=np.zeros(turns, np.int64),
        invalid=np.asarray(facts.invalid, np.bool_),
    )
    match rule:
        case "format":
            return format_errors(steps)
        case "invalid_actions":
            return invalid_actions(steps)
        case "repetitions":
            return repetitions(steps, [turn.action for turn in trajectory.turns])
