"""Selection of explored episodes for training: pure functions from trajectories to trajectories.

Episodes that failed or were cancelled have no return and are never selected. Every function keeps the order
of its input, so equal inputs give equal outputs in whatever order the episodes finished (callers sort by id
first).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agentevol.config.sections.selection import SELECTIONS, SelectConfig
from agentevol.core.errors import ConfigError
from agentevol.data.groups import by_task, start_of
from agentevol.learn.algorithms.advantages.baselines import grouped
from agentgym_store.records import Trajectory


def scored(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """Trajectories that have a return and at least one turn."""
    return [t for t in trajectories if t.total_reward is not None and t.turns]


def at_least(
    trajectories: Iterable[Trajectory], threshold: float, by_environment: Mapping[str, float] | None = None
) -> list[Trajectory]:
    """Trajectories whose return is at least `threshold`, or that of their environment (rejection-sampling
    fine-tuning).
    """
    own = by_environment or {}
    return [t for t in scored(trajectories) if (t.total_reward or 0.0) >= own.get(t.env, threshold)]


def top_ratio(trajectories: Iterable[Trajectory], ratio: float) -> list[Trajectory]:
    """The share `ratio` with the highest returns, at least one; ties go to fewer turns, then to fewer refused
    actions, then to the smaller id.
    """
    candidates = scored(trajectories)
    count = max(1, round(ratio * len(candidates)))
    chosen = {t.id for t in sorted(candidates, key=_preference)[:count]}
    return [t for t in candidates if t.id in chosen]


def best(trajectories: Iterable[Trajectory], k: int) -> list[Trajectory]:
    """The `k` best episodes of every task that has a return above the worst possible, 0."""
    return at_most_per_task([t for t in scored(trajectories) if (t.total_reward or 0.0) > 0], k)


def accepted(trajectories: Iterable[Trajectory], scale: float, seed: int) -> list[Trajectory]:
    """Rejection sampling: an episode is kept with probability return / scale, by a separate draw."""
    return [
        t for t in scored(trajectories) if Random(f"{seed}/{t.id}").random() < (t.total_reward or 0.0) / scale
    ]


def distinct(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """Trajectories without those that repeat the actions of an earlier one of the same task."""
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    kept: list[Trajectory] = []
    for t in trajectories:
        key = (t.env, start_of(t), tuple(turn.action for turn in t.turns))
        if key not in seen:
            seen.add(key)
            kept.append(t)
    return kept


def at_most_per_task(trajectories: Iterable[Trajectory], count: int) -> list[Trajectory]:
    """At most `count` of every task: higher return first, then fewer turns, then fewer actions that the
    environment could not carry out, then the smaller id.
    """
    candidates = list(trajectories)
    chosen = {t.id for group in by_task(candidates).values() for t in sorted(group, key=_preference)[:count]}
    return [t for t in candidates if t.id in chosen]


def within_limits(
    trajectories: Iterable[Trajectory],
    *,
    max_turns: int | None,
    max_tokens: int | None,
    min_turns: int | None = None,
) -> list[Trajectory]:
    """Trajectories within the limits; tokens are those of the last prompt and its sample."""
    kept: list[Trajectory] = []
    for t in trajectories:
        if min_turns is not None and len(t.turns) < min_turns:
            continue
        if max_turns is not None and len(t.turns) > max_turns:
            continue
        if max_tokens is not None and tokens(t) > max_tokens:
            continue
        kept.append(t)
    return kept


def tokens(trajectory: Trajectory) -> int:
    """Tokens of the longest context, prompt and sample; 0 for a scripted episode."""
    samples = [turn.sample for turn in trajectory.turns if turn.sample is not None]
    return max((len(sample.prompt_ids) + len(sample.token_ids) for sample in samples), default=0)


def select(trajectories: Sequence[Trajectory], config: SelectConfig, seed: int) -> list[Trajectory]:
    """Episodes to train on, in the order of their ids."""
    candidates = sorted(trajectories, key=lambda t: t.id)
    rule = SELECTIONS.load(config.rule)
    chosen = _checked(config.rule, rule(candidates, config, seed), candidates)
    limits = {"min_turns": config.min_turns, "max_turns": config.max_turns, "max_tokens": config.max_tokens}
    chosen = within_limits(chosen, **limits)
    if config.distinct:
        chosen = distinct(chosen)
    return at_most_per_task(chosen, config.per_task) if config.per_task is not None else chosen


def _checked(rule: str, chosen: Sequence[Trajectory], candidates: Sequence[Trajectory]) -> list[Trajectory]:
    """The chosen episodes that have a return. Raises `ConfigError` for episodes that are no candidates."""
    known = {t.id for t in candidates}
    if not all(isinstance(t, Trajectory) and t.id in known for t in chosen):
        raise ConfigError(f"select.rule {rule!r} returned something else than episodes of its input")
    wanted = {t.id for t in chosen}
    return [t for t in scored(candidates) if t.id in wanted]


def informative(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """Trajectories of tasks whose scored samples had different returns (dynamic sampling,
    arXiv:2503.14476).
    """
    candidates = scored(trajectories)
    returns = [t.total_reward or 0.0 for t in candidates]
    differ = informative_groups(returns, [f"{t.iteration}/{t.env}/{start_of(t)}" for t in candidates])
    return [t for t, kept in zip(candidates, differ.tolist(), strict=True) if kept]


def learnt_turns(trajectory: Trajectory, which: Literal["all", "valid", "fresh"]) -> list[bool]:
    """For each turn, whether its action is trained on, given that the episode was selected.

    A won episode can hold actions that the environment refused, and loops, which should not be cloned.
    """
    seen: set[tuple[str, str]] = set()
    learnt: list[bool] = []
    for turn in trajectory.turns:
        step = (turn.action, turn.observation)
        valid = not turn.info.get("invalid_action", False)
        learnt.append(which == "all" or (valid and (which == "valid" or step not in seen)))
        seen.add(step)
    return learnt


def fresh(
    trajectories: Sequence[Trajectory], max_lag: int | None, newest: int | None = None
) -> list[Trajectory]:
    """Trajectories without those with a turn sampled by weights more than `max_lag` updates older than
    `newest`.

    `max_lag` None keeps all; `newest` None is the newest version of each run: versions of two runs are not of
    one policy. Fresh samples of a task stay where others are removed; a single remaining one is a group of
    one (`singleton` of the algorithms). Turns that no policy of this run sampled have no age and stay:
    scripted turns, imported texts, retained episodes.
    """
    if max_lag is None:
        return list(trajectories)
    newest_of: dict[str, int] = {}
    for t in trajectories:
        newest_of[t.run] = max([newest_of.get(t.run, 0), *_versions(t)]) if newest is None else newest
    return [
        t for t in trajectories if newest_of[t.run] - min(_versions(t), default=newest_of[t.run]) <= max_lag
    ]


def ages(trajectories: Iterable[Trajectory]) -> list[tuple[int | None, int]]:
    """Number of episodes by the oldest version that sampled one of their turns; None for those without an
    age.
    """
    return list(Counter(min(_versions(t), default=None) for t in trajectories).items())


def _versions(trajectory: Trajectory) -> list[int]:
    """Versions of the turns that a policy of the trajectory's own run sampled."""
    if trajectory.purpose == "retain":  # a copy, under another run's name
        return []
    return [turn.sample.policy_version for turn in trajectory.turns if turn.sample is not None]


def _preference(trajectory: Trajectory) -> tuple[float, int, int, str]:
    refused = sum(bool(turn.info.get("invalid_action", False)) for turn in trajectory.turns)
    return (-(trajectory.total_reward or 0.0), len(trajectory.turns), refused, trajectory.id)


def informative_groups(returns: Sequence[float], groups: Sequence[str]) -> NDArray[np.bool_]:
    """DAPO's dynamic sampling (arXiv:2503.14476, eq. 11): (J,) True where the returns of the episode's group
    differ; False for a group of one, whose advantage is 0 as well.

    Returns [1, 0, 1, 1] of groups [a, a, b, b] give [True, True, False, False]. Resampling other tasks in
    place of the rest changes the distribution of tasks: report the success rate before this filter.
    """
    if not len(returns):
        return np.zeros(0, dtype=np.bool_)
    found = grouped(np.asarray(returns, dtype=np.float64), groups)
    return ~found.equal[found.number]


def sampled_tokens(trajectory: Trajectory) -> int:
    """Number of tokens that the policy sampled."""
    return sum(len(turn.sample.token_ids) for turn in trajectory.turns if turn.sample is not None)
