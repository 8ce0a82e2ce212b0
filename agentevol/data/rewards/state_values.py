"""Choice of states of explored episodes, and their values from continuations.

The state after turn n of an episode is reached again by its task, its seed and its first n + 1 turns; from
there the policy plays K continuations, each with a seed of its own. Three continuations with outcomes 1, 0
and 1 give the value 2/3.

The first state is not valued in this way: the samples of a task already are its continuations. Neither is the
last: its value is the outcome.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

import numpy as np

from agentevol.core.errors import REPLAY_MISMATCH
from agentevol.data.groups import start_of
from agentevol.data.selection.filters import scored
from agentevol.data.training_sequences import facts
from agentevol.learn.rewards.monte_carlo_values import StateValue, StateValues, counted, pooled
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class State:
    """State of an episode after a turn."""

    episode: Trajectory
    turn: int


@dataclass(frozen=True)
class Counted:
    """Values counted over the continuations."""

    values: StateValues
    states: int
    """Number of states that were to be valued."""
    mismatched: int
    """Number of these that the environment did not reach again: they have no label."""
    cut_off: float = 0.0
    """Share of truncated ones among the counted continuations: they count with their return."""

    @property
    def figures(self) -> dict[str, float]:
        """Metrics: states with a label, and the share of those that could not be reached again."""
        labelled = sum(len(turns) for turns in self.values.values())
        rate = self.mismatched / self.states if self.states else 0.0
        return {
            "process_states": float(labelled),
            "process_mismatch_rate": rate,
            "process_truncated_rate": self.cut_off,
        }


def chosen_states(
    explored: Iterable[Trajectory], *, share: float, per_episode: int, seed: int
) -> list[State]:
    """States of a random `share` of the episodes, at least one; equal input in any order gives equal states.

    Episodes of one turn have none.
    """
    candidates = [t for t in scored(explored) if len(t.turns) > 1]
    drawn = sorted(candidates, key=lambda t: Random(f"{seed}/{t.id}").random())
    chosen = drawn[: math.ceil(share * len(drawn))]
    return [
        State(episode, turn)
        for episode in sorted(chosen, key=lambda t: t.id)
        for turn in _turns(episode, per_episode, seed)
    ]


def count_outcomes(
    states: Sequence[State],
    played: Iterable[Trajectory],
    count: int,
    outcomes: Mapping[str, float] | None = None,
) -> Counted:
    """Count the values of the states. Failed continuations are ignored; one mismatch leaves a state
    unlabelled.

    An outcome is the return of the whole episode, or its entry in `outcomes`, if not NaN. It has to lie in
    [0, 1]; else `ConfigError`.
    """
    by_id = {t.id: t for t in played}
    values: dict[str, dict[int, StateValue]] = {}
    mismatched = 0
    endings: list[bool] = []
    for state in states:
        own = [by_id[identity] for identity in continuation_ids(state, count) if identity in by_id]
        reached = [outcome_of(t, outcomes) for t in own if t.total_reward is not None]
        known = [round(outcome, 9) for outcome in reached if not math.isnan(outcome)]
        if any(is_mismatch(t, state.episode) for t in own):
            mismatched += 1
        elif known:
            values.setdefault(state.episode.id, {})[state.turn] = counted(known)
            endings += [t.ending.kind == "truncated" for t in own if t.total_reward is not None]
    return Counted(values, len(states), mismatched, fmean(endings) if endings else 0.0)


def recorded_states(explored: Iterable[Trajectory], played: Iterable[Trajectory]) -> tuple[list[State], int]:
    """States from which a table's continuations were played, and the largest number of them for one state."""
    alone = [t for t in scored(explored) if t.episode_id is None and t.parent is None]
    by_place = {(t.run, t.iteration, t.env, t.task_id, t.attempt): t for t in alone}
    places: set[tuple[str, int]] = set()
    most = 0
    for t in played:
        turn, number = (int(part) for part in t.id.rsplit("/", 2)[1:])
        episode = by_place.get((t.run, t.iteration, t.env, t.task_id, int(t.id.rsplit("/", 3)[1])))
        if episode is not None:
            places.add((episode.id, turn))
            most = max(most, number + 1)
    episodes = {t.id: t for t in by_place.values()}
    return [State(episodes[identity], turn) for identity, turn in sorted(places)], most


def is_mismatch(continuation: Trajectory, episode: Trajectory | None = None) -> bool:
    """True where the environment's answers or opening differ from those of the episode."""
    ending = continuation.ending
    if ending.kind == "failed":
        return ending.failure == REPLAY_MISMATCH
    return episode is not None and continuation.initial_observation != episode.initial_observation


def outcome_of(trajectory: Trajectory, outcomes: Mapping[str, float] | None) -> float:
    """Entry of an episode in `outcomes`, or else its return."""
    return (trajectory.total_reward or 0.0) if outcomes is None else outcomes[trajectory.id]


def _turns(episode: Trajectory, per_episode: int, seed: int) -> list[int]:
    before_last = range(len(episode.turns) - 1)
    return sorted(
        Random(f"{seed}/{episode.id}/turns").sample(before_last, min(per_episode, len(before_last)))
    )


def continuation_ids(state: State, count: int) -> list[str]:
    """Ids of `count` continuations of a state."""
    episode = state.episode
    explored = f"{episode.run}/explore/{episode.iteration:04d}/"
    place = f"{episode.task_id}/{episode.attempt}"
    if episode.id.startswith(explored):  # in a mixed run, with the environment
        place = episode.id.removeprefix(explored)
    return [
        f"{episode.run}/value/{episode.iteration:04d}/{place}/{state.turn}/{number}"
        for number in range(count)
    ]


def pooled_values(
    explored: Iterable[Trajectory], outcomes: Mapping[str, float] | None = None, *, at_least: int = 3
) -> Counted:
    """Values of the states that at least `at_least` episodes of a task passed through, from their outcomes.

    For environments that cannot be replayed. States are identified by their texts. Every state that an
    episode passed through before its last turn counts as one to be valued.
    """
    episodes = [t for t in scored(explored) if not math.isnan(outcome_of(t, outcomes))]
    anchors = [facts(t).anchors for t in episodes]
    places = [(number, turn) for number, t in enumerate(episodes) for turn in range(len(t.turns) - 1)]
    found = pooled(
        [(episodes[n].env, start_of(episodes[n]), anchors[n][turn + 1]) for n, turn in places],
        np.asarray([number for number, _ in places], dtype=np.int64),
        [round(outcome_of(t, outcomes), 9) for t in episodes],
        at_least=at_least,
    )
    values: dict[str, dict[int, StateValue]] = {}
    for (number, turn), value in zip(places, found, strict=True):
        if value is not None:
            values.setdefault(episodes[number].id, {})[turn] = value
    return Counted(values, len(places), mismatched=0)
