"""Judgement of episodes by a reward model: one conservative score each, and the quality of such scores.

Two members give 1 and 3 to an episode, on the scale of the model's own training episodes. `lcb` with kappa 1
is 2 - sqrt(2) = 0.59: disagreement lowers the score.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import inf
from pathlib import Path

import numpy as np

from agentevol.config.rewards.reward import CautionConfig
from agentevol.core.algorithms.contract import Floats
from agentevol.core.protocols import TrainingSequence
from agentevol.data.groups import by_task
from agentevol.data.preference_pairs import Bands, compare
from agentevol.data.rewards.metrics import (
    accuracy_by_length,
    calibration_error,
    correlation,
    pair_accuracy,
    rank_correlation,
)
from agentevol.data.selection.filters import sampled_tokens, scored
from agentevol.learn.batches.packing import episode_sequences
from agentevol.learn.heads.reward_scale import RewardScale
from agentevol.learn.rewards.ensemble import independent, memberwise, normalised, spread
from agentgym_store.files import whole_file
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class Judgement:
    """Judgement of one episode, in standard deviations of the episodes that the model was trained on."""

    score: float
    """Conservative score: the one that is learnt from."""
    mean: float
    """Score without the penalty for disagreement."""
    spread: float
    """Standard deviation over the members; 0 for a single one."""
    objectives: Mapping[str, float]
    """Mean over the members, for each objective."""
    said: float
    """Mean of the raw outputs: with one objective, the sigmoid of a difference is the probability of being
    the better one.
    """


def judge(scale: RewardScale, scores: Mapping[str, Floats], caution: CautionConfig) -> dict[str, Judgement]:
    """Episode -> judgement, from the (H,) scores of its heads.

    Raises `ConfigError` for a weight of an objective that the model does not have.
    """
    weights = scale.weights(caution.weights)
    found: dict[str, Judgement] = {}
    for name, scores_H in scores.items():
        own_DK = scale.standardised(scores_H)
        members_K = normalised(weights) @ own_DK
        score = _cautious(own_DK, weights, caution)
        by_objective = dict(zip(scale.objectives, own_DK.mean(axis=1).tolist(), strict=True))
        found[name] = Judgement(
            score=float(score),
            mean=float(members_K.mean()),
            spread=float(spread(members_K)),
            objectives=by_objective,
            said=float(scores_H.mean()),
        )
    return found


def _cautious(own_DK: Floats, weights: Sequence[float], caution: CautionConfig) -> Floats:
    if caution.combination == "independent":
        return independent(own_DK, weights, kappa=caution.kappa)
    return memberwise(own_DK, weights, caution.combination, kappa=caution.kappa, penalty=caution.penalty)


def sequences_to_judge(trajectories: Iterable[Trajectory]) -> list[TrainingSequence]:
    """Training sequences of the episodes that have a return and sampled tokens."""
    sampled = [t for t in scored(trajectories) if any(turn.sample is not None for turn in t.turns)]
    return [sequence for trajectory in sampled for sequence in episode_sequences(trajectory, 1.0)]


def write_judgements(trajectories: Iterable[Trajectory], judged: Mapping[str, Judgement], out: Path) -> None:
    """Write one line for each judged episode, in the order of ids; the file appears when it is complete."""
    known = sorted((t for t in trajectories if t.id in judged), key=lambda t: t.id)
    with whole_file(out) as file:
        for t in known:
            told = {"id": t.id, "task_id": t.task_id, "return": t.total_reward, **asdict(judged[t.id])}
            file.write((json.dumps(told) + "\n").encode())


def figures(trajectories: Sequence[Trajectory], judged: Mapping[str, Judgement]) -> dict[str, float]:
    """Quality metrics of these episodes' scores; NaN where there is nothing to compare.

    Pairs are all pairs of a task's episodes that differ in success or, by 0.1, in return; their length gap is
    in sampled tokens of the better side less those of the worse.
    """
    known = [t for t in trajectories if t.id in judged]
    own = [judged[t.id] for t in known]
    scores = _scores(own)
    tokens = np.asarray([sampled_tokens(t) for t in known], dtype=np.float64)
    returns = np.asarray([t.total_reward or 0.0 for t in known], dtype=np.float64)
    return {
        "episodes": float(len(known)),
        "score": _mean(scores),
        "spread": _mean(np.asarray([one.spread for one in own])),
        "return_correlation": rank_correlation(scores, returns),
        "token_correlation": correlation(scores, tokens),
        **_pair_figures(_pairs(known), judged),
    }


def _pairs(trajectories: Sequence[Trajectory]) -> list[tuple[Trajectory, Trajectory]]:
    """(better, worse) pairs within tasks."""
    bands = Bands(cost=inf, invalid=inf, turns=inf, tokens=inf)
    found: list[tuple[Trajectory, Trajectory]] = []
    for first, second in (
        pair for group in by_task(trajectories).values() for pair in combinations(group, 2)
    ):
        sign, _ = compare(first, second, bands)
        if sign:
            found.append((first, second) if sign > 0 else (second, first))
    return found


def _pair_figures(
    pairs: Sequence[tuple[Trajectory, Trajectory]], judged: Mapping[str, Judgement]
) -> dict[str, float]:
    better, worse = ([judged[pair[side].id] for pair in pairs] for side in (0, 1))
    score_better, score_worse = _scores(better), _scores(worse)
    gaps = np.asarray([sampled_tokens(one) - sampled_tokens(other) for one, other in pairs], np.float64)
    by_length = accuracy_by_length(score_better, score_worse, gaps, [0.0, 1.0])
    shown = ("shorter", "equal", "longer")
    cautious, plain = np.sign(score_better - score_worse), np.sign(_means(better) - _means(worse))
    return {
        "pairs": float(len(pairs)),
        "pair_accuracy": pair_accuracy(score_better, score_worse),
        **{f"pair_accuracy_{name}": by_length[place][1] for place, name in enumerate(shown)},
        **_by_objective(better, worse),
        "score_gap": _mean(score_better - score_worse),
        "score_better": _mean(score_better),
        "score_worse": _mean(score_worse),
        "calibration_error": _calibration(better, worse, pairs),
        "caution_changes_order": _mean((cautious != plain).astype(np.float64)),
    }


def _scores(judgements: Sequence[Judgement]) -> Floats:
    return np.asarray([one.score for one in judgements], dtype=np.float64)


def _means(judgements: Sequence[Judgement]) -> Floats:
    return np.asarray([one.mean for one in judgements], dtype=np.float64)


def _by_objective(better: Sequence[Judgement], worse: Sequence[Judgement]) -> dict[str, float]:
    """Accuracy of each objective on the pairs; empty for a single objective."""
    names = list(better[0].objectives) if better else []
    if len(names) < 2:
        return {}
    return {
        f"pair_accuracy_by_{name}": pair_accuracy(
            np.asarray([one.objectives[name] for one in better]),
            np.asarray([one.objectives[name] for one in worse]),
        )
        for name in names
    }


def _calibration(
    better: Sequence[Judgement],
    worse: Sequence[Judgement],
    pairs: Sequence[tuple[Trajectory, Trajectory]],
) -> float:
    """Calibration error of sigmoid(difference of raw outputs), in an order of sides independent of the
    outcome.

    NaN for several objectives, whose outputs are not probabilities of being better.
    """
    if any(len(one.objectives) > 1 for one in better):
        return float("nan")
    ahead = np.asarray([one.id < other.id for one, other in pairs], dtype=np.float64)
    gap = np.asarray([one.said - other.said for one, other in zip(better, worse, strict=True)], np.float64)
    return calibration_error(1 / (1 + np.exp(-np.where(ahead > 0, gap, -gap))), ahead)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
