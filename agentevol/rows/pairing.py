"""Preferences out of explored episodes: pairs of a better and a worse episode of one task, and labels.

Two episodes of one task, both won, one in 4 turns and one in 9, make a pair: the first is chosen, since equal
success and return leave the decision to the turns. Won in 8 and in 9 turns they would be tied: the gap is
below 20 %. Pure functions; the order of the input has no influence on the result.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan, nan
from random import Random
from typing import Literal, cast

from agentevol.loop.select import scored
from agentgym_store.records import Sample, Trajectory

Strategy = Literal["best_worst", "adjacent", "all_capped", "same_prefix"]

Criterion = Literal["success", "outcome", "cost", "invalid", "turns", "tokens"]

ROUNDING = 1e-9
"""0.9 - 0.8 is a gap of 0.1."""


@dataclass(frozen=True)
class Pair:
    """Two episodes of one task."""

    chosen: Trajectory
    rejected: Trajectory
    margin: float
    """How much higher the return of the chosen one is; 0 where something else decided."""
    shared_turns: int = 0
    """The first turns that are not learnt, since both sides have them (`same_prefix`)."""


@dataclass(frozen=True)
class Bands:
    """Gaps below which two episodes count as equal; equal numbers always do."""

    outcome: float = 0.1
    """Of the return."""
    cost: float = 0.0
    """Of the total safety cost."""
    invalid: float = 1
    """Of the number of actions that the world could not carry out."""
    turns: float = 0.2
    """As a share of the larger number."""
    tokens: float = 0.2
    """Of the sampled tokens, as a share of the larger number."""


@dataclass(frozen=True)
class Pairing:
    """Pairs, and why there are not more."""

    pairs: tuple[Pair, ...]
    """In the order of their tasks, better pairs of a task first."""
    tasks: int
    """Tasks with an episode that has a return."""
    one_sided: int
    """Of these, tasks in which no episode is better than another."""
    only_cut_off: int
    """Better-worse combinations left out since the worse one lost only because a limit ended it."""
    identical: int
    """Better-worse combinations left out since both say the same: there is nothing to tell apart."""


@dataclass(frozen=True)
class Label:
    """An episode on its own."""

    trajectory: Trajectory
    desirable: bool
    weight: float
    """Makes up for the number of the other kind."""


def pair_up(
    trajectories: Iterable[Trajectory],
    *,
    strategy: Strategy = "best_worst",
    bands: Bands | None = None,
    per_task: int = 8,
    truncated_is_loss: bool = False,
    seed: int = 0,
) -> Pairing:
    """Pairs within each task, never across tasks.

    `best_worst` makes one pair of a task, of the best and the worst episode; `adjacent` pairs each episode
    with the next worse; `all_capped` draws at most `per_task` of all pairs; `same_prefix` draws them from
    those that begin with the same turns and then part. An episode that a limit ended is not rejected for its
    success or return, which it might yet have reached, unless `truncated_is_loss`.
    """
    limits = bands or Bands()
    by_task: dict[tuple[str, ...], list[Trajectory]] = defaultdict(list)
    for trajectory in scored(trajectories):
        by_task[_task(trajectory)].append(trajectory)
    found: list[Pair] = []
    one_sided = cut_off = identical = 0
    for task in sorted(by_task):
        ordered = ranked(by_task[task], limits)
        better = _better_worse(ordered, limits)
        kept = [(i, j) for i, j, by in better if truncated_is_loss or not _only_cut_off(ordered[j], by)]
        unlike = [(i, j) for i, j in kept if _said(ordered[i]) != _said(ordered[j])]
        one_sided += not better
        cut_off += len(better) - len(kept)
        identical += len(kept) - len(unlike)
        draw = Random(f"{seed}/{'/'.join(task)}")
        chosen = _chosen(strategy, ordered, unlike, per_task, draw)
        found += [_pair(ordered[i], ordered[j], strategy) for i, j in chosen]
    return Pairing(tuple(found), len(by_task), one_sided, cut_off, identical)


def compare(
    first: Trajectory, second: Trajectory, bands: Bands | None = None
) -> tuple[int, Criterion | None]:
    """1 if the first is better, -1 if worse, 0 for a tie; and what decided.

    Success, then the higher return, then the lower cost, fewer invalid actions, fewer turns, fewer tokens;
    the first that differs by its band decides. Scripted episodes have no tokens to compare.

    Because of the bands, ties do not carry over (0.50 ties with 0.45 and that with 0.40), and three episodes
    can even beat each other in a circle; `ranked` makes an order of it.
    """
    limits = bands or Bands()
    one, other = _standing(first), _standing(second)
    gaps: list[tuple[Criterion, float, float]] = [
        ("success", one["success"] - other["success"], 1),
        ("outcome", one["outcome"] - other["outcome"], limits.outcome),
        ("cost", other["cost"] - one["cost"], limits.cost),
        ("invalid", other["invalid"] - one["invalid"], limits.invalid),
        ("turns", _relative(other["turns"], one["turns"]), limits.turns),
        ("tokens", _relative(other["tokens"], one["tokens"]), limits.tokens),
    ]
    for criterion, gap, band in gaps:
        if abs(gap) > ROUNDING and abs(gap) >= band - ROUNDING:
            return (1 if gap > 0 else -1), criterion
    return 0, None


def ranked(trajectories: Iterable[Trajectory], bands: Bands | None = None) -> list[Trajectory]:
    """The episodes of one task, best first: by the number that they beat less the number that beat them.

    Equally good ones go by their exact figures, without bands, and then by id.
    """
    episodes = sorted(trajectories, key=lambda t: t.id)
    points = dict.fromkeys((t.id for t in episodes), 0)
    for first, second in combinations(episodes, 2):
        sign, _ = compare(first, second, bands)
        points[first.id] += sign
        points[second.id] -= sign
    return sorted(episodes, key=lambda t: (-points[t.id], *_exactly(t), t.id))


def labels(trajectories: Iterable[Trajectory], *, truncated_is_loss: bool = False) -> list[Label]:
    """Successes are desirable, failures are not; in the order of ids.

    Weights bring (desirable weight * number) / (undesirable weight * number) into [1, 4/3] (eq. 8 of
    Ethayarajh et al., 2024, arXiv:2402.01306) by raising those of the kind that lacks. Failures that a limit
    ended have no label unless `truncated_is_loss`: nobody knows what they would have become.
    """
    kept = [
        t
        for t in sorted(scored(trajectories), key=lambda t: t.id)
        if t.succeeded() or truncated_is_loss or t.ending.kind != "truncated"
    ]
    desirable, undesirable = balance(sum(t.succeeded() for t in kept), sum(not t.succeeded() for t in kept))
    return [Label(t, t.succeeded(), desirable if t.succeeded() else undesirable) for t in kept]


def balance(desirable: int, undesirable: int) -> tuple[float, float]:
    """The weights of the two kinds from their numbers; at least one is 1."""
    if not desirable or not undesirable:
        return 1.0, 1.0
    return max(undesirable / desirable, 1.0), max(desirable / undesirable / (4 / 3), 1.0)


def shared_turns(first: Trajectory, second: Trajectory) -> int:
    """How many first turns are the same, to the token, with what the world answered."""
    count = 0
    for one, other in zip(first.turns, second.turns, strict=False):
        if (_words(one.sample), one.action, one.observation) != (
            _words(other.sample),
            other.action,
            other.observation,
        ):
            break
        count += 1
    return count


def _task(trajectory: Trajectory) -> tuple[str, ...]:
    """What both sides of a pair have in common: the task as the agent first sees it."""
    return (
        trajectory.env,
        trajectory.env_version,
        trajectory.data_version,
        trajectory.task_id,
        trajectory.instruction,
        trajectory.initial_observation,
    )


def _standing(trajectory: Trajectory) -> dict[Criterion, float]:
    return {
        "success": float(trajectory.succeeded()),
        "outcome": trajectory.total_reward or 0.0,
        "cost": sum(_costs(turn.info) for turn in trajectory.turns),
        "invalid": float(sum(turn.info.get("invalid_action") is True for turn in trajectory.turns)),
        "turns": float(len(trajectory.turns)),
        "tokens": float(sum(len(turn.sample.token_ids) for turn in trajectory.turns if turn.sample)),
    }


def _costs(info: Mapping[str, object]) -> float:
    """What the costs by name in a turn's `info["costs"]` add up to; NaN where nobody could judge one."""
    told = info.get("costs")
    values = cast("Mapping[str, object]", told).values() if isinstance(told, Mapping) else ()
    known = [nan if value is None else value for value in values]
    return float(sum(value for value in known if isinstance(value, int | float)))


def _exactly(trajectory: Trajectory) -> tuple[float, ...]:
    """A key that sorts better episodes first."""
    one = _standing(trajectory)
    cost = inf if isnan(one["cost"]) else one["cost"]  # NaN has no place in an order
    return (-one["success"], -one["outcome"], cost, one["invalid"], one["turns"], one["tokens"])


def _relative(more: float, less: float) -> float:
    """By how much `more` exceeds `less`, as a share of the larger; 0 where a number is not known."""
    return (more - less) / max(more, less) if more and less else 0.0


def _only_cut_off(trajectory: Trajectory, by: Criterion) -> bool:
    """Whether an episode lost for what a limit did: no success, less return, as many turns as it allows.

    Its costs and invalid actions are its own.
    """
    cut = trajectory.ending.kind == "truncated" and not trajectory.succeeded()
    return cut and by in ("success", "outcome", "turns", "tokens")


def _better_worse(ordered: list[Trajectory], bands: Bands) -> list[tuple[int, int, Criterion]]:
    """Every place and a place that it beats, and by what."""
    found: list[tuple[int, int, Criterion]] = []
    for i, j in combinations(range(len(ordered)), 2):
        sign, by = compare(ordered[i], ordered[j], bands)
        if by is not None:
            found.append((i, j, by) if sign > 0 else (j, i, by))
    return sorted(found)


def _said(trajectory: Trajectory) -> tuple[object, ...]:
    """What would be learnt of it."""
    return tuple((turn.action, _words(turn.sample)) for turn in trajectory.turns)


def _words(sample: Sample | None) -> tuple[int, ...]:
    return () if sample is None else sample.token_ids


def _chosen(
    strategy: Strategy, ordered: list[Trajectory], pairs: list[tuple[int, int]], most: int, draw: Random
) -> list[tuple[int, int]]:
    """The pairs of places that a strategy takes, of those that are allowed."""
    match strategy:
        case "best_worst":
            return sorted(pairs, key=lambda pair: (pair[0], -pair[1]))[:1]
        case "adjacent":
            return [(i, j) for i, j in pairs if abs(i - j) == 1]
        case "all_capped":
            return sorted(draw.sample(pairs, min(most, len(pairs))))
        case "same_prefix":
            parting = [(i, j) for i, j in pairs if _part(ordered[i], ordered[j])]
            return sorted(draw.sample(parting, min(most, len(parting))))


def _part(first: Trajectory, second: Trajectory) -> bool:
    """Whether both begin with the same turns, and each then has turns of its own."""
    return 0 < shared_turns(first, second) < min(len(first.turns), len(second.turns))


def _pair(chosen: Trajectory, rejected: Trajectory, strategy: Strategy) -> Pair:
    margin = max((chosen.total_reward or 0.0) - (rejected.total_reward or 0.0), 0.0)
    shared = shared_turns(chosen, rejected) if strategy == "same_prefix" else 0
    return Pair(chosen, rejected, margin, shared)
