"""Preference data from explored episodes: pairs of a better and a worse episode of one task, and labels.

Two successful episodes of one task, one in 4 turns and one in 9, make a pair: the first is chosen, since with
equal success and return the turns decide. With 8 and 9 turns they would be tied: the gap is below 20 %. All
functions are pure, and independent of the order of the input.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan
from random import Random
from typing import Literal

from agentevol.data.groups import by_key, start_of
from agentevol.data.selection.filters import scored
from agentgym_store.records import Sample, Trajectory, total_costs

Strategy = Literal["best_worst", "adjacent", "all_capped", "same_prefix"]

Criterion = Literal["success", "outcome", "cost", "invalid", "turns", "tokens"]

ROUNDING = 1e-9
"""Tolerance of gaps: 0.9 - 0.8 counts as a gap of 0.1."""


@dataclass(frozen=True)
class Pair:
    """Two episodes of one task."""

    chosen: Trajectory
    rejected: Trajectory
    margin: float
    """Return of the chosen episode less that of the rejected; 0 where another criterion decided."""
    shared_turns: int = 0
    """Number of first turns that are not learnt, since both sides have them (`same_prefix`)."""
    preference: float = 1.0
    """Probability that the chosen episode is the better one."""


@dataclass(frozen=True)
class Bands:
    """Gaps below which two episodes count as equal; equal numbers always do."""

    outcome: float = 0.1
    """Gap of the return."""
    cost: float = 0.0
    """Gap of the total safety cost."""
    invalid: float = 1
    """Gap of the number of actions that the environment could not execute."""
    turns: float = 0.2
    """Gap of the number of turns, as a share of the larger number."""
    tokens: float = 0.2
    """Gap of the sampled tokens, as a share of the larger number."""


def bands_of(outcome_gap: float, tie_breaks: bool) -> Bands:
    """The bands of `pairs.outcome_gap` and `pairs.tie_breaks`."""
    if tie_breaks:
        return Bands(outcome=outcome_gap)
    return Bands(outcome=outcome_gap, invalid=inf, turns=inf, tokens=inf)


@dataclass(frozen=True)
class Pairing:
    """Pairs, and counts of tasks and combinations without one."""

    pairs: tuple[Pair, ...]
    """In the order of their tasks, better pairs of a task first."""
    tasks: int
    """Number of tasks with an episode that has a return."""
    one_sided: int
    """Number of these in which no episode is better than another."""
    only_cut_off: int
    """Better-worse combinations left out since the worse one is worse only because it was truncated."""
    identical: int
    """Better-worse combinations left out since both sides have the same actions: they carry no preference."""


@dataclass(frozen=True)
class Label:
    """An unpaired episode with its label."""

    trajectory: Trajectory
    desirable: bool
    weight: float
    """Weight that compensates for the numbers of the two kinds."""


def pair_up(
    trajectories: Iterable[Trajectory],
    *,
    strategy: Strategy = "best_worst",
    bands: Bands | None = None,
    per_task: int = 8,
    truncated_is_loss: bool = False,
    seed: int = 0,
    remembered: Iterable[Trajectory] = (),
) -> Pairing:
    """Pairs within each task, never across tasks. `remembered` episodes may be rejected, never chosen.

    `best_worst` makes one pair of a task, of the best and the worst episode; `adjacent` pairs each episode
    with the next worse; `all_capped` draws at most `per_task` of all pairs; `same_prefix` draws them from
    those that begin with the same turns and then differ. A truncated episode is not rejected for its success
    or return, which it might yet have reached, unless `truncated_is_loss`.
    """
    limits = bands or Bands()
    groups = by_key(scored(trajectories), task_key)
    old = by_key(scored(remembered), task_key)
    found: list[Pair] = []
    one_sided = cut_off = identical = 0
    for task in sorted(groups):
        earlier = old.get(task, [])
        ordered, never = ranked([*groups[task], *earlier], limits), {one.id for one in earlier}
        better = [one for one in _better_worse(ordered, limits) if ordered[one[0]].id not in never]
        kept = [(i, j) for i, j, by in better if truncated_is_loss or not _only_cut_off(ordered[j], by)]
        unlike = [(i, j) for i, j in kept if said(ordered[i]) != said(ordered[j])]
        one_sided += not better
        cut_off += len(better) - len(kept)
        identical += len(kept) - len(unlike)
        draw = Random(f"{seed}/{'/'.join(task)}")
        chosen = _chosen(strategy, ordered, unlike, per_task, draw)
        found += [_pair(ordered[i], ordered[j], strategy) for i, j in chosen]
    return Pairing(tuple(found), len(groups), one_sided, cut_off, identical)


def compare(
    first: Trajectory, second: Trajectory, bands: Bands | None = None
) -> tuple[int, Criterion | None]:
    """1 if the first is better, -1 if worse, 0 for a tie; and the deciding criterion.

    Success, then the higher return, then the lower cost, fewer invalid actions, fewer turns, fewer tokens;
    the first that differs by its band decides. Scripted episodes have no tokens to compare.

    Because of the bands, ties are not transitive (0.50 ties with 0.45 and that with 0.40), and three episodes
    can even form a cycle; `ranked` makes an order of it.
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

    Equally good ones are in the order of their exact values, without bands, and then of ids.
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
    Ethayarajh et al., 2024, arXiv:2402.01306) by raising those of the rarer kind. Truncated failures have no
    label unless `truncated_is_loss`: their outcome is unknown.
    """
    kept = [
        t
        for t in sorted(scored(trajectories), key=lambda t: t.id)
        if t.succeeded() or truncated_is_loss or t.ending.kind != "truncated"
    ]
    desirable, undesirable = balance(sum(t.succeeded() for t in kept), sum(not t.succeeded() for t in kept))
    return [Label(t, t.succeeded(), desirable if t.succeeded() else undesirable) for t in kept]


def balance(desirable: int, undesirable: int) -> tuple[float, float]:
    """Weights of the two kinds from their numbers; at least one is 1."""
    if not desirable or not undesirable:
        return 1.0, 1.0
    return max(undesirable / desirable, 1.0), max(desirable / undesirable / (4 / 3), 1.0)


def shared_turns(first: Trajectory, second: Trajectory) -> int:
    """Number of first turns that are the same, to the token, including the environment's answers."""
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


def task_key(trajectory: Trajectory) -> tuple[str, ...]:
    """Key of a pair's common task: the task as the agent first sees it."""
    return (
        trajectory.env,
        trajectory.env_version,
        trajectory.data_version,
        start_of(trajectory),
        trajectory.instruction,
        trajectory.initial_observation,
    )


def _standing(trajectory: Trajectory) -> dict[Criterion, float]:
    return {
        "success": float(trajectory.succeeded()),
        "outcome": trajectory.total_reward or 0.0,
        "cost": sum(total_costs(trajectory.turns).values()),
        "invalid": float(sum(turn.info.get("invalid_action") is True for turn in trajectory.turns)),
        "turns": float(len(trajectory.turns)),
        "tokens": float(sum(len(turn.sample.token_ids) for turn in trajectory.turns if turn.sample)),
    }


def _exactly(trajectory: Trajectory) -> tuple[float, ...]:
    """Sort key that puts better episodes first."""
    one = _standing(trajectory)
    cost = inf if isnan(one["cost"]) else one["cost"]  # NaN has no place in an order
    return (-one["success"], -one["outcome"], cost, one["invalid"], one["turns"], one["tokens"])


def _relative(more: float, less: float) -> float:
    """Excess of `more` over `less`, as a share of the larger; 0 where a number is not known."""
    return (more - less) / max(more, less) if more and less else 0.0


def _only_cut_off(trajectory: Trajectory, by: Criterion) -> bool:
    """True where an episode is worse only because of truncation: no success, less return, or the most turns
    allowed.

    Its costs and invalid actions are its own.
    """
    cut = trajectory.ending.kind == "truncated" and not trajectory.succeeded()
    return cut and by in ("success", "outcome", "turns", "tokens")


def _better_worse(ordered: list[Trajectory], bands: Bands) -> list[tuple[int, int, Criterion]]:
    """Pairs of a place and a place that it beats, with the deciding criterion."""
    found: list[tuple[int, int, Criterion]] = []
    for i, j in combinations(range(len(ordered)), 2):
        sign, by = compare(ordered[i], ordered[j], bands)
        if by is not None:
            found.append((i, j, by) if sign > 0 else (j, i, by))
    return sorted(found)


def said(trajectory: Trajectory) -> tuple[object, ...]:
    """Content of the episode that would be learnt: actions and sampled tokens."""
    return tuple((turn.action, _words(turn.sample)) for turn in trajectory.turns)


def _words(sample: Sample | None) -> tuple[int, ...]:
    return () if sample is None else sample.token_ids


def _chosen(
    strategy: Strategy, ordered: list[Trajectory], pairs: list[tuple[int, int]], most: int, draw: Random
) -> list[tuple[int, int]]:
    """Pairs of places that a strategy selects from the allowed ones."""
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
    """True where both begin with the same turns, and each then has turns of its own."""
    return 0 < shared_turns(first, second) < min(len(first.turns), len(second.turns))


def _pair(chosen: Trajectory, rejected: Trajectory, strategy: Strategy) -> Pair:
    margin = max((chosen.total_reward or 0.0) - (rejected.total_reward or 0.0), 0.0)
    shared = shared_turns(chosen, rejected) if strategy == "same_prefix" else 0
    return Pair(chosen, rejected, margin, shared)
