"""Training data of one update from feedback: pairs, corrected actions, weights, labels, scores and flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentevol.config.run import RunConfig, TrainConfig
from agentevol.config.self_evolution.feedback import OPINION
from agentevol.core.algorithms.contract import Objective
from agentevol.core.protocols import TrainingSequence
from agentevol.data.feedback.aggregation.aggregate import Aggregated
from agentevol.data.feedback.lessons import LESSONS, Material
from agentevol.data.feedback.outcomes import contradicts
from agentevol.data.feedback.scores import aggregated
from agentevol.data.feedback.usable import Usable, usable
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.models.rendering import ChatRenderer
from agentgym_store.feedback.records import Feedback
from agentgym_store.records import Trajectory

BELOW_CHANCE = "below_chance_"
"""Beginning of the figure that names a source below chance."""


@dataclass(frozen=True)
class Taught:
    """Training data from opinions."""

    sequences: list[TrainingSequence]
    without: frozenset[str]
    """Episodes whose own outcome teaches nothing: flagged ones, and those whose scores teach instead."""
    figures: dict[str, float]
    """Counts of opinions by their use."""
    flagged: frozenset[str] = frozenset()
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores of episodes in [0, 1], with `select.score = "feedback"`."""
    turn_values: Mapping[str, StateValues] = field(default_factory=dict[str, StateValues])
    """Name -> labels of turns, for process reward models."""

    def check(self, data: Path | str) -> None:
        """Raise `NothingToLearn` where there is nothing, with the counts."""
        if not self.sequences:
            raise NothingToLearn(
                f"the feedback on {data} teaches this algorithm nothing:"
                f" {_listed(self.figures) or 'there is none'}; `agentevol feedback list` shows all of it"
            )


NOTHING = Taught([], frozenset(), {})
"""Of no opinion."""


def spoken(figures: Mapping[str, float]) -> str:
    """One line of the counts: `opinions: correction 1, pairs of corrections 1`."""
    named = {_words(name.removeprefix("feedback_")): value for name, value in figures.items()}
    return f"opinions: {_listed(named) or 'none'}"


def _words(name: str) -> str:
    """A figure's name in words; the name of a source stays as it is."""
    source = name.removeprefix(BELOW_CHANCE)
    return name.replace("_", " ") if source == name else f"{BELOW_CHANCE.replace('_', ' ')}{source}"


def _listed(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in figures.items() if value)


def taught(
    opinions: Sequence[Feedback],
    episodes: Mapping[str, Trajectory],
    config: RunConfig | TrainConfig,
    chosen: Objective,
    renderer: ChatRenderer,
    split: str,
) -> Taught:
    """Training data from opinions on `episodes`, which are by id; other splits than `split` are held out.

    Raises `ConfigError`.
    """
    found = usable(opinions, episodes, split, drops_conflicts=config.feedback.conflict == "drop")
    lesson = LESSONS[chosen.algorithm.data](Material(found, episodes, config, chosen, renderer))
    by_score = config.select.score == OPINION
    scores = aggregated(found.scores, config.feedback, episodes) if by_score else Aggregated({})
    made = dict(lesson.made)
    if by_score:
        made["scored_episodes"] = len(scores.values)
    judged = (*found.scores, *found.comparisons)
    made["against_outcome"] = sum(contradicts(one, episodes) for one in judged)
    made |= {f"{BELOW_CHANCE}{name}": 1 for name in sorted(lesson.below_chance | scores.below_chance)}
    return Taught(
        lesson.sequences,
        found.flagged | lesson.rated,
        _figures(found, made),
        flagged=found.flagged,
        scores=scores.values,
        turn_values=lesson.turn_values,
    )


def _figures(found: Usable, made: dict[str, int]) -> dict[str, float]:
    given = {f"feedback_{kind}": float(count) for kind, count in sorted(found.given.items())}
    became = {f"feedback_{name}": float(count) for name, count in made.items()}
    reasons = {
        f"feedback_left_out_{reason.replace(' ', '_')}": float(count)
        for reason, count in sorted(found.left_out.items())
    }
    return {**given, **became, **reasons}
