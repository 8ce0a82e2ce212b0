"""Sources of episode scores by name, for `select.score`.

A source is a function from the shared objects of a run, an iteration and its explored episodes to `Scores`.
Another one is a function here and its name in `agentevol.config.sections.selection.Score`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentevol.core.protocols import Checkpoint
from agentevol.loop.scores.self_evaluation import SelfEvaluation
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.stages.rewards import Rewards
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class Scores:
    """Scores of the explored episodes of an iteration."""

    by_episode: Mapping[str, float] | None
    """Score by episode, without those that have none; None where the returns are used."""
    model: Checkpoint | None = None
    """Weights that gave them."""
    file: Path | None = None
    """File with the verdicts."""
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """Figures for the iteration's summary."""
    told: Sequence[str] = ()
    """Lines about them, printed once."""


@dataclass(frozen=True)
class Scorers:
    """Objects of a run that give scores."""

    rewards: Rewards
    own: SelfEvaluation
    opinions: Opinions


Source = Callable[[Scorers, int, Sequence[Trajectory]], Scores]
"""Function of a run's scorers, an iteration and all its explored episodes. Equal when it is called again, in
a resumed run too.
"""


def of_return(_: Scorers, __: int, ___: Sequence[Trajectory]) -> Scores:
    """The environment's return."""
    return Scores(None)


def of_reward(scorers: Scorers, iteration: int, explored: Sequence[Trajectory]) -> Scores:
    """The reward of `reward.*`."""
    return Scores(scorers.rewards.scores(iteration, explored), model=scorers.rewards.model(iteration))


def of_judge(scorers: Scorers, iteration: int, explored: Sequence[Trajectory]) -> Scores:
    """The verdict of `reward.judge`."""
    found = scorers.rewards.scores(iteration, explored)
    return Scores(found, file=scorers.rewards.verdicts(iteration))


def of_self(scorers: Scorers, iteration: int, explored: Sequence[Trajectory]) -> Scores:
    """The policy's own opinion, unless it is distrusted."""
    found = scorers.own.of(iteration, explored)
    return Scores(
        found.scores if found.trusted else None,
        model=found.model,
        file=found.file,
        figures=found.figures,
        told=found.told,
    )


def of_feedback(scorers: Scorers, iteration: int, explored: Sequence[Trajectory]) -> Scores:
    """Opinions of `feedback.sources`."""
    found = scorers.opinions.taught(iteration).scores
    return Scores({one.id: found[one.id] for one in explored if one.id in found})


SOURCES: Mapping[str, Source] = {
    "return": of_return,
    "reward": of_reward,
    "judge": of_judge,
    "self": of_self,
    "feedback": of_feedback,
}
"""Sources by name."""
