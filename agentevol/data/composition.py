"""Training-data metrics of an iteration: new, earlier and expert sequences of each environment, and their
age.

6 training sequences of this iteration, 2 of an earlier one and 4 of demonstrations, all of weight 1, are

    {"guess": {"sequences_new": 6, "sequences_earlier": 2, "sequences_expert": 4, "explored_to_expert": 2.0,
               "token_share": 1.0, "mean_weight": 1.0, "effective_sample_size": 12.0}}
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from agentevol.core.protocols import TrainingSequence
from agentevol.data.groups import by_key
from agentevol.learn.algorithms.episode_weights import effective_sample_size
from agentgym_store.records import Trajectory

Versions = dict[str, list[int | None]]
"""Episode -> version of the weights that sampled each of its turns; None for scripted ones."""

Source = Literal["new", "earlier", "expert", "feedback"]


class Share(NamedTuple):
    """Training sequences of one source and environment, as the metrics of an iteration count them."""

    environment: str
    source: Source
    tokens: int
    """Trained tokens of the sequences whose weight is above 0."""
    weights: Sequence[float]
    """Weight of every sequence."""


@dataclass(frozen=True)
class Part:
    """Training sequences of an iteration from one source, and their share of its metrics."""

    sequences: Sequence[TrainingSequence]
    digest: str
    """Hash of the sequences (`agentevol.data.hashes.of_sequences`)."""
    turns: Mapping[int, int]
    """Version of the weights -> number of trained turns that they sampled."""
    shares: Sequence[Share]


def shares(
    sequences: Iterable[TrainingSequence],
    *,
    new: Set[str],
    expert: Set[str],
) -> list[Share]:
    """Training sequences grouped by environment and source.

    `new` and `expert` are ids of episodes; the others are of earlier iterations or retained.
    """
    found: dict[tuple[str, Source], list[TrainingSequence]] = defaultdict(list)
    for sequence in sequences:
        name = sequence.trajectory_id
        source: Source = "new" if name in new else "expert" if name in expert else "earlier"
        found[sequence.environment, source].append(sequence)
    return [
        Share(
            *kind,
            sum(int(sequence.mask.sum()) for sequence in own if sequence.weight > 0),
            [sequence.weight for sequence in own],
        )
        for kind, own in found.items()
    ]


def learnt_figures(found: Iterable[Share]) -> dict[str, dict[str, float]]:
    """Metrics by environment: sequences by source (from `feedback` only where there are some), the share of
    all trained tokens (`replay.floor` is its minimum for a replayed environment), mean weight and effective
    sample size, and explored sequences per expert sequence.

    `explored_to_expert` (|D_m| / |D_s| of AgentEvol) is present only where there are expert sequences.
    """
    trained = (share for share in found if len(share.weights))
    by_environment = by_key(trained, lambda share: share.environment)
    tokens = {name: sum(share.tokens for share in own) for name, own in by_environment.items()}
    whole = sum(tokens.values())
    part = {name: {"token_share": count / whole} if whole else {} for name, count in tokens.items()}
    return {name: part[name] | _figures(by_environment[name]) for name in sorted(by_environment)}


def explored_figures(explored: Iterable[Trajectory]) -> dict[str, dict[str, float]]:
    """Metrics of explored episodes by environment: their number, and the share of won ones among those that
    have a return.
    """
    found = dict[str, dict[str, float]]()
    for name, own in by_key(explored, lambda t: t.env).items():
        tried = [t.succeeded() for t in own if t.total_reward is not None]
        rate = {"explored_success": sum(tried) / len(tried)} if tried else {}
        found[name] = {"explored": float(len(own)), **rate}
    return found


def _figures(own: Sequence[Share]) -> dict[str, float]:
    count = Counter[str]()
    for share in own:
        count[share.source] += len(share.weights)
    shown, weights = count["expert"], [weight for share in own for weight in share.weights]
    said = {"sequences_feedback": float(count["feedback"])} if count["feedback"] else {}
    ratio = {"explored_to_expert": (len(weights) - shown - count["feedback"]) / shown} if shown else {}
    return {
        "sequences_new": float(count["new"]),
        "sequences_earlier": float(count["earlier"]),
        "sequences_expert": float(shown),
        **said,
        **ratio,
        "mean_weight": sum(weights) / len(weights),
        "effective_sample_size": effective_sample_size(weights),
    }


def versions(episodes: Iterable[Trajectory]) -> Versions:
    """Versions of the weights that sampled each turn of the episodes."""
    return {t.id: [turn.sample.policy_version if turn.sample else None for turn in t.turns] for t in episodes}


def sampled_turns(sequence: TrainingSequence, sampled_by: Versions) -> list[int]:
    """Version of the weights that sampled each trained turn of a sequence.

    Episodes that are not in `sampled_by` (played by another run's policy, or scripted) have none.
    """
    if sequence.turn is None or sequence.trajectory_id not in sampled_by:
        return []
    by_turn = sampled_by[sequence.trajectory_id]
    found = (by_turn[turn] for turn in np.unique(sequence.turn[sequence.mask]).tolist())
    return [version for version in found if version is not None]


def turns_by_version(sequences: Iterable[TrainingSequence], sampled_by: Versions) -> dict[int, int]:
    """Version of the weights -> number of trained turns that they sampled."""
    return Counter(version for sequence in sequences for version in sampled_turns(sequence, sampled_by))


def version_lag(turns: Iterable[Mapping[int, int]], newest: int) -> dict[str, float]:
    """Staleness in updates between the weights that sampled a trained turn and version `newest`: mean and
    maximum.

    `turns` are the trained turns by version of each part. Empty where no trained turn has a version.
    """
    found = Counter[int]()
    for part in turns:
        found.update(part)
    if not found:
        return {}
    lag = sum(count * (newest - version) for version, count in found.items())
    return {
        "policy_version_lag_mean": lag / found.total(),
        "policy_version_lag_max": float(newest - min(found)),
    }


def staleness(lag: Mapping[str, float]) -> str:
    """Text of the result of `version_lag`."""
    mean, most = lag["policy_version_lag_mean"], lag["policy_version_lag_max"]
    return f"trained turns are {mean:.2f} updates old on average, {most:.0f} at most"
