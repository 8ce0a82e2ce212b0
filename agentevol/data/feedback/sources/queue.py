"""Queue of episodes for people to rate: where sources disagree most, and a fifth at random.

place       1   2   3   4   5        6   ...
episode     those with the largest   at random
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from agentevol.data.feedback.aggregation.ratings import ratings
from agentgym_store.feedback.records import Feedback, Score

EVERY = 5
"""One place of so many is drawn at random [house value]: what all agree on may be wrong."""
OUTCOME = "environment:return"
"""The recorded outcome as a source."""


@dataclass(frozen=True)
class Queued:
    """Place in the queue."""

    episode: str
    disagreement: float
    """Standard deviation of the scores over sources, the outcome among them; 0 of fewer than two."""
    sources: int
    at_random: bool


def queue(
    episodes: Sequence[str],
    opinions: Iterable[Feedback],
    outcomes: Mapping[str, float],
    *,
    person: str = "",
    seed: int = 0,
) -> Iterator[Queued]:
    """Episodes in the order in which a person should rate them, without those that the person has rated.

    `opinions` are those that stand; `outcomes` are returns in [0, 1]. Equal arguments give equal queues.
    """
    records = [one for one in opinions if isinstance(one.opinion, Score) and one.turn is None]
    rated = {one.trajectory_id for one in records if one.source == person}
    apart = disagreements(records, outcomes)
    left = [name for name in dict.fromkeys(episodes) if name not in rated]
    drawn = sorted(left, key=lambda name: sha256(f"{seed}/{person}/{name}".encode()).digest())
    ranked = sorted(
        (name for name in left if apart.get(name, (0.0, 0))[0] > 0), key=lambda n: (-apart[n][0], n)
    )
    seen, ways = set[str](), (iter(ranked), iter(drawn))
    for place in range(len(left)):
        wanted = 1 if place % EVERY == EVERY - 1 else 0
        name = next((one for one in ways[wanted] if one not in seen), None)
        if name is None:
            wanted, name = 1, next(one for one in ways[1] if one not in seen)
        seen.add(name)
        yield Queued(name, *apart.get(name, (0.0, 0)), at_random=wanted == 1)


def following(
    returns: Mapping[str, float | None], opinions: Iterable[Feedback], *, person: str, seed: int = 0
) -> Iterator[Queued]:
    """Queue of the episodes that have a return, which `returns` has by id; outcomes are those in [0, 1]."""
    known = {name: reward for name, reward in returns.items() if reward is not None}
    outcomes = {name: reward for name, reward in known.items() if 0 <= reward <= 1}
    about = [one for one in opinions if one.trajectory_id in returns]
    return queue(list(known), about, outcomes, person=person, seed=seed)


def disagreements(records: Iterable[Feedback], outcomes: Mapping[str, float]) -> dict[str, tuple[float, int]]:
    """Scored episode -> standard deviation of its scores in [0, 1] over sources, and their number; a known
    outcome is one of them.
    """
    told = [
        (one.trajectory_id, one.source, one.opinion.share)
        for one in records
        if isinstance(one.opinion, Score)
    ]
    known = [(name, OUTCOME, outcomes[name]) for name in {name for name, _, _ in told} if name in outcomes]
    found = ratings([*known, *told])
    if not len(found.item_N):
        return {}
    count_I = found.by_item()
    mean_I = found.by_item(found.value_N) / count_I
    spread_I = np.sqrt(found.by_item((found.value_N - mean_I[found.item_N]) ** 2) / count_I)
    told_I = zip(found.items, spread_I.tolist(), count_I.tolist(), strict=True)
    return {str(name): (spread, int(count)) for name, spread, count in told_I}
