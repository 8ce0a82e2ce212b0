"""Simulated raters: comparisons that are wrong with a known probability, and corrections by the expert."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from agentevol.data.groups import by_task
from agentgym_envs.core import Environment
from agentgym_store.feedback.records import Comparison, Correction, Feedback
from agentgym_store.records import Trajectory

Pair = tuple[Trajectory, Trajectory]
"""A won and a lost episode of a task."""


@dataclass(frozen=True)
class Rater:
    """A person who compares two episodes, and takes the worse one for the better with probability `wrong`."""

    name: str
    wrong: float

    def compare(self, pair: Pair, generator: Random) -> Feedback:
        """Opinion about a pair."""
        won, lost = pair
        verdict = "worse" if generator.random() < self.wrong else "better"
        return Feedback(
            trajectory_id=won.id,
            source=f"human:{self.name}",
            opinion=Comparison(other=lost.id, verdict=verdict),
        )


def pairs(episodes: Sequence[Trajectory], count: int, generator: Random) -> list[Pair]:
    """At most `count` pairs, in an order that takes another task each time while there are some."""
    by_rank = list[tuple[int, float, Pair]]()
    for group in by_task(episodes).values():
        won = [t for t in group if t.succeeded()]
        lost = [t for t in group if not t.succeeded()]
        both = list(product(won, lost))
        generator.shuffle(both)
        by_rank += [(rank, generator.random(), pair) for rank, pair in enumerate(both)]
    return [pair for *_, pair in sorted(by_rank, key=lambda one: one[:2])][:count]


def corrections(episodes: Sequence[Trajectory], environment: Environment) -> Iterator[Feedback]:
    """The expert's action at the first turn of each lost episode that leaves the expert's way."""
    for episode in episodes:
        plan = environment.expert(environment.task(episode.task_id)) or ()
        said = [turn.action for turn in episode.turns]
        turn = first_difference(said, plan)
        if episode.succeeded() or turn is None:
            continue
        yield Feedback(
            trajectory_id=episode.id,
            turn=turn,
            source="human:expert",
            opinion=Correction(action=plan[turn]),
        )


def first_difference(said: Sequence[str], plan: Sequence[str]) -> int | None:
    """Index of the first action that is another one than the plan's; None where there is none."""
    for index, (own, planned) in enumerate(zip(said, plan, strict=False)):
        if own != planned:
            return index
    return None
