"""Labels of turns, for the heads of a process reward model.

A judge gives turn 3 of an episode relevance 9 of 1 to 10, a person gives it the score 4 of 1 to 5: the head
`relevance` has the label 0.889 at the last token of the turn, the head `score` 0.75.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.aggregation.aggregate import scores
from agentevol.data.feedback.aggregation.ratings import ratings
from agentevol.learn.rewards.monte_carlo_values import StateValue, StateValues
from agentgym_store.feedback.records import Dimensions, Feedback, Score
from agentgym_store.records import Trajectory

SCORE = "score"
"""Name of the head of turns' scores; dimensions have heads of their own names."""


@dataclass(frozen=True)
class TurnLabels:
    """Labels of the turns of one head."""

    values: StateValues
    """Episode -> turn -> label in [0, 1], with the number of sources as its samples."""
    below_chance: frozenset[str]

    @property
    def count(self) -> int:
        """Number of labelled turns."""
        return sum(map(len, self.values.values()))


def named(opinions: Iterable[Feedback]) -> list[str]:
    """Names that somebody gave to turns, sorted: dimensions, and `score`."""
    return sorted({name for one in opinions for name in _shares(one)})


def turn_labels(opinions: Sequence[Feedback], head: str, how: FeedbackConfig) -> TurnLabels:
    """Labels of turns under this name, of all sources by the rule of `how`."""
    found = ratings(
        ((one.trajectory_id, one.turn), one.source, shares[head])
        for one in opinions
        if one.turn is not None and head in (shares := _shares(one))
    )
    told, count_I = scores(found, how), found.by_item()
    sources = dict(zip(found.items, count_I.tolist(), strict=True))
    values: dict[str, dict[int, StateValue]] = {}
    for (name, turn), value in told.values.items():
        number = int(sources[name, turn])
        values.setdefault(name, {})[turn] = StateValue(value * number, number)
    return TurnLabels(values, told.below_chance)


def of_own_turns(values: StateValues, episodes: Iterable[Trajectory]) -> StateValues:
    """The labels of these episodes, by the turns that remain where given ones are left out."""
    given = {t.id: t.given_turns for t in episodes}
    return {
        name: {turn - given[name]: value for turn, value in by_turn.items()}
        for name, by_turn in values.items()
        if name in given
    }


def _shares(one: Feedback) -> dict[str, float]:
    """Values in [0, 1] by name; none of dimensions without a scale."""
    if one.turn is None:
        return {}
    if isinstance(one.opinion, Score):
        return {SCORE: one.opinion.share}
    return one.opinion.shares or {} if isinstance(one.opinion, Dimensions) else {}
