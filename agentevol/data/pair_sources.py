"""Sources of preference pairs beside an iteration's own episodes: demonstrations, and earlier lost episodes.

A task with a demonstration d, own episodes w (won) and l (lost), and m, lost in an earlier iteration:

    pairs.demonstrations = "lost"    w > l, w > m (by `pairs.strategy`), and d > l, d > m
    pairs.demonstrations = "any"     d > w, d > l, d > m
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from agentevol.config.sections.selection import PairsConfig
from agentevol.data.groups import by_key
from agentevol.data.preference_pairs import Bands, Pair, Pairing, bands_of, compare, pair_up, task_key
from agentevol.data.selection.filters import scored
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class PairSources:
    """Episodes that may be sides of pairs, beside those of the iteration."""

    demonstrations: tuple[Trajectory, ...] = ()
    """Episodes of the expert, which are chosen."""
    lost: tuple[Trajectory, ...] = ()
    """Lost episodes of earlier iterations, which are rejected."""


NO_SOURCES = PairSources()


def all_pairs(
    own: Sequence[Trajectory], sources: PairSources, config: PairsConfig, seed: int
) -> tuple[Pair, ...]:
    """Pairs among own episodes (`pair_up`), and those with demonstrations. Raises `NothingToLearn` without a
    pair.
    """
    shown = {task_key(one): one for one in reversed(scored(sources.demonstrations))}
    taken = shown if config.demonstrations == "any" else {}
    pairing = pair_up(
        [one for one in own if task_key(one) not in taken],
        strategy=config.strategy,
        bands=bands_of(config.outcome_gap, config.tie_breaks),
        per_task=config.per_task,
        truncated_is_loss=config.truncated_is_loss,
        seed=seed,
        remembered=sources.lost,
    )
    pairs = (*pairing.pairs, *_demonstrated(own, sources, config, seed))
    if not pairs:
        raise NothingToLearn(_no_pair(pairing, len(shown), config))
    return pairs


def lost_before(earlier: Iterable[Trajectory]) -> tuple[Trajectory, ...]:
    """Lost ones among earlier episodes; of those of a task with equal actions the latest alone."""
    found = {
        (task_key(one), _actions(one)): one
        for one in sorted(scored(earlier), key=lambda one: (one.iteration, one.id))
        if not one.succeeded()
    }
    return tuple(sorted(found.values(), key=lambda one: one.id))


def is_scripted(trajectory: Trajectory) -> bool:
    """Whether no model sampled the episode, as a demonstration."""
    return all(turn.sample is None for turn in trajectory.turns)


def _demonstrated(
    own: Sequence[Trajectory], sources: PairSources, config: PairsConfig, seed: int
) -> list[Pair]:
    """Pairs of a demonstration and an own episode of its task, at most `pairs.per_task` of a task; an episode
    with the demonstration's actions carries no preference.
    """
    shown = {task_key(one): one for one in reversed(scored(sources.demonstrations))}
    rejected = by_key(scored(own), task_key)
    bands = bands_of(config.outcome_gap, config.tie_breaks)
    pairs = list[Pair]()
    for task in sorted(shown.keys() & rejected.keys()):
        best = shown[task]
        earlier = [one for one in scored(sources.lost) if task_key(one) == task]
        worse = [
            one
            for one in sorted([*rejected[task], *earlier], key=lambda one: one.id)
            if _actions(one) != _actions(best) and _is_rejected(best, one, bands, config)
        ]
        draw = Random(f"{seed}/demonstration/{'/'.join(task)}")
        kept = draw.sample(range(len(worse)), min(config.per_task, len(worse)))
        pairs += [_pair(best, worse[place]) for place in sorted(kept)]
    return pairs


def _is_rejected(shown: Trajectory, own: Trajectory, bands: Bands, config: PairsConfig) -> bool:
    if config.demonstrations == "any":
        return True
    cut = own.ending.kind == "truncated" and not config.truncated_is_loss
    return not own.succeeded() and not cut and compare(shown, own, bands)[0] > 0


def _pair(shown: Trajectory, own: Trajectory) -> Pair:
    return Pair(shown, own, max((shown.total_reward or 0.0) - (own.total_reward or 0.0), 0.0))


def _actions(trajectory: Trajectory) -> tuple[str, ...]:
    return tuple(turn.action for turn in trajectory.turns)


def _no_pair(pairing: Pairing, shown: int, config: PairsConfig) -> str:
    beside = f", and none of {shown} tasks with a demonstration" if config.demonstrations else ""
    return (
        f"no pair in {pairing.tasks} tasks: {pairing.one_sided} of them one-sided,"
        f" {pairing.only_cut_off} combinations lost to a limit only (pairs.truncated_is_loss),"
        f" {pairing.identical} alike{beside}; more samples of a task or a smaller pairs.outcome_gap may make"
        " some"
    )
