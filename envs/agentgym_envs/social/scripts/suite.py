"""Suite: plays the scripted policies of every family, and compares them with what they may earn.

> report = attack(Social(), tasks=200, splits=["train"])
> report.passed, report.results[0].name
(True, 'price/silent')
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, stdev
from typing import Final

from agentgym_envs.core import Record
from agentgym_envs.social.environment import Social
from agentgym_envs.social.episode import Episode
from agentgym_envs.social.family import LEVELS
from agentgym_envs.social.scripts.policies import Policy
from agentgym_envs.social.scripts.table import POLICIES, Rule
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.social.tasks import tasks as tasks_of
from agentgym_envs.tooluse.attacks import AttackReport, AttackResult, Played, status_of

CONSTANT, BLIND = 0.6, 0.85
"""Shares of the expert's return that one demand, and a plan without regard to the partner, may earn."""
Z_95: Final = 1.96


class Scores(Record):
    """Scores of one policy in one family; means over episodes."""

    family: str
    policy: str
    rule: Rule
    episodes: int
    goal: float
    goal_half: float
    """Half of the 95 % interval of `goal`."""
    secret: float | None
    social_rules: float | None
    reward: float
    reward_error: float
    """Standard error of `reward`."""
    highest: float
    """Highest reward of an episode."""
    deals: float
    """Share of episodes that end with an agreement."""
    pareto: float | None
    """Share of the deals that no other division betters; None where it is not defined."""
    turns: float
    """Utterances of both seats."""
    temperaments: dict[str, float]
    """Mean goal by temperament of the partner, where it has one."""
    slowest_ms: float


@dataclass
class _Tally:
    goals: list[float] = field(default_factory=list[float])
    rewards: list[float] = field(default_factory=list[float])
    secrets: list[float] = field(default_factory=list[float])
    rules: list[float] = field(default_factory=list[float])
    pareto: list[float] = field(default_factory=list[float])
    deals: int = 0
    turns: int = 0
    slowest_s: float = 0.0
    by_temperament: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


def measure(environment: Social, count: int | None, splits: Sequence[str]) -> list[Scores]:
    """Scores of all policies in the environment's families, on `count` tasks of each family and split, or on
    all of them. The episode's seed is the position of its task.
    """
    found = list[Scores]()
    for name in environment.families:
        rows = [one for split in splits for one in _rows(split, name, count)]
        for policy, entry in POLICIES[name].items():
            found.append(_scores(name, policy, entry.rule, _played(rows, entry.policy)))
    return found


def violations(scores: Sequence[Scores]) -> Mapping[str, str]:
    """Returns that a policy may not earn, by `family/policy`. Limits allow for three standard errors."""
    best = {one.family: one for one in scores if one.rule == "expert"}
    first = {one.family: one for one in scores if one.rule == "first"}
    told = dict[str, str]()
    for one in scores:
        low, high = bounds(one, best[one.family], first.get(one.family))
        spread = 3 * _error(one, best[one.family], high)
        if one.rule == "zero" and one.highest > 0:
            told[f"{one.family}/{one.policy}"] = f"earns {one.highest:.3f} in an episode, not 0"
        elif not low - 1e-9 <= one.reward <= high + spread + 1e-9:
            told[f"{one.family}/{one.policy}"] = f"earns {one.reward:.3f}, not {low:.3f} to {high:.3f}"
    return told


def _error(one: Scores, best: Scores, high: float) -> float:
    """Standard error of what a policy earns beside the expert; 0 where nothing may be earned."""
    return math.hypot(one.reward_error, best.reward_error) if high else 0.0


def bounds(one: Scores, best: Scores, first: Scores | None) -> tuple[float, float]:
    """Lowest and highest mean reward that a policy may have, beside the expert and `accept_first`."""
    if one.rule == "zero":
        return 0.0, 0.0
    if one.rule == "expert":
        return first.reward if first else 0.0, 1.0
    share = {"constant": CONSTANT, "blind": BLIND}.get(one.rule, 1.0)
    ceiling = first.reward if one.rule == "random" and first else share * best.reward
    return 0.0, ceiling


def attack(environment: Social, tasks: int | None = 50, *, splits: Sequence[str] = ()) -> AttackReport:
    """Play every policy on `tasks` tasks of each family and split; None plays all."""
    chosen = splits or environment.splits
    scores = measure(environment, tasks, chosen)
    told = violations(scores)
    best = {one.family: one for one in scores if one.rule == "expert"}
    first = {one.family: one for one in scores if one.rule == "first"}
    results = list[AttackResult]()
    for one in scores:
        low, high = bounds(one, best[one.family], first.get(one.family))
        name = f"{one.family}/{one.policy}"
        results.append(
            AttackResult(
                name=name,
                episodes=one.episodes,
                mean=one.reward,
                low=round(low, 3),
                high=round(high, 3),
                standard_error=_error(one, best[one.family], high),
                status=status_of(one.reward, low, high, one.episodes, violated=name in told),
                slowest_ms=one.slowest_ms,
                violations=(told[name],) if name in told else (),
            )
        )
    return AttackReport(
        env=environment.name,
        data_version=environment.data_version,
        tasks=max(one.episodes for one in scores),
        splits={split: _played_of(environment, split, tasks) for split in chosen},
        results=tuple(results),
    )


def _played_of(environment: Social, split: str, count: int | None) -> Played:
    rows = [(_rows(split, name, count), _rows(split, name, None)) for name in environment.families]
    return Played(tasks=sum(len(some) for some, _ in rows), of=sum(len(every) for _, every in rows))


def _rows(split: str, family: str, count: int | None) -> Sequence[SocialTask]:
    rows = tasks_of(split, (family,), LEVELS)
    if count is None:
        return rows
    return rows[:count]  # not spaced: levels take turns, and each has its share


def _played(rows: Sequence[SocialTask], policy: Policy) -> _Tally:
    tally = _Tally()
    for seed, task in enumerate(rows):
        episode = Episode(task, seed, "relationship", both_seats=False)
        speaker = policy(task, Random(f"{task.id}/{seed}"))
        while not episode.ended:
            action = speaker.reply(episode.latest(1 - task.seat))
            started = time.perf_counter()
            episode.act(action)
            tally.slowest_s = max(tally.slowest_s, time.perf_counter() - started)
        _enter(tally, episode)
    return tally


def _enter(tally: _Tally, episode: Episode) -> None:
    outcome = episode.outcome(episode.task.seat)
    tally.goals.append(outcome.goal)
    tally.rewards.append(outcome.reward)
    if outcome.secret is not None:
        tally.secrets.append(outcome.secret)
    if outcome.social_rules is not None:
        tally.rules.append(outcome.social_rules)
    if "pareto" in outcome.facts:
        tally.pareto.append(float(outcome.facts["pareto"]))
    tally.deals += "deal" in episode.conversation.end_reasons
    tally.turns += episode.conversation.turn_number
    if kind := episode.temperament:
        tally.by_temperament.setdefault(kind, []).append(outcome.goal)


def _scores(family: str, policy: str, rule: Rule, tally: _Tally) -> Scores:
    count = len(tally.goals)
    root = math.sqrt(count)
    return Scores(
        family=family,
        policy=policy,
        rule=rule,
        episodes=count,
        goal=fmean(tally.goals),
        goal_half=Z_95 * stdev(tally.goals) / root if count > 1 else 0.0,
        secret=fmean(tally.secrets) if tally.secrets else None,
        social_rules=fmean(tally.rules) if tally.rules else None,
        reward=fmean(tally.rewards),
        reward_error=stdev(tally.rewards) / root if count > 1 else 0.0,
        highest=max(tally.rewards),
        deals=tally.deals / count,
        pareto=fmean(tally.pareto) if tally.pareto else None,
        turns=tally.turns / count,
        temperaments={kind: fmean(goals) for kind, goals in sorted(tally.by_temperament.items())},
        slowest_ms=1000 * tally.slowest_s,
    )
