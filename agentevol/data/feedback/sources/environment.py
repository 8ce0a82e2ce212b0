"""The environment's own opinions, computed from episodes: source `environment:RULE`.

    return        the return, where it lies in [0, 1]
    turn_reward   the reward of each turn on the scale from 0 or -1 to 1, where all of the episode lie on it
    efficiency    L / max(T, L) of a won episode in T turns, 0 of a lost one (arXiv:1807.06757). L is the
                  expert's number of turns in the task, 1 where it is not known
    valid         share of turns whose action the environment could carry out: 1 less the invalid share
    costs         1 without any reported cost, else 0, and the costs themselves as dimensions

They are exact: other sources are calibrated against the returns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from agentevol.data.groups import own_part, start_of
from agentgym_store.feedback.latest import standing, thing
from agentgym_store.feedback.records import Feedback, feedback
from agentgym_store.records import Trajectory, total_costs

VERSION = "1"
"""Version of the rules, in `rubric_version`."""
Told = Iterator[tuple[int | None, dict[str, Any]]]
"""Turn, or None for the episode, and the opinion."""
Lengths = Mapping[tuple[str, str], int]
"""(Environment, start) -> the expert's number of turns."""


def _score(value: float, low: float = 0.0) -> dict[str, Any]:
    return {"kind": "score", "value": float(value), "low": low, "high": 1.0}


def _return(episode: Trajectory, _: Lengths) -> Told:
    total = own_part(episode).total_reward
    if total is not None and 0 <= total <= 1:
        yield None, _score(total)


def _turn_reward(episode: Trajectory, _: Lengths) -> Told:
    own = own_part(episode).turns
    if not own or not all(-1 <= turn.reward <= 1 for turn in own):
        return
    low = -1.0 if any(turn.reward < 0 for turn in own) else 0.0
    for number, turn in enumerate(own, episode.given_turns):
        yield number, _score(turn.reward, low)


def _efficiency(episode: Trajectory, lengths: Lengths) -> Told:
    turns = len(own_part(episode).turns)
    if turns:
        shortest = lengths.get((episode.env, start_of(episode)), 1)
        yield None, _score(shortest / max(turns, shortest) if episode.succeeded() else 0.0)


def _valid(episode: Trajectory, _: Lengths) -> Told:
    turns = own_part(episode).turns
    if turns:
        invalid = sum(turn.info.get("invalid_action") is True for turn in turns)
        yield None, _score(1 - invalid / len(turns))


def _costs(episode: Trajectory, _: Lengths) -> Told:
    costs = total_costs(own_part(episode).turns)
    if any(isnan(cost) for cost in costs.values()):
        return
    yield None, _score(float(not any(costs.values())))
    if costs:
        yield None, {"kind": "dimensions", "values": costs}


RULES: Mapping[str, Callable[[Trajectory, Lengths], Told]] = {
    "return": _return,
    "turn_reward": _turn_reward,
    "efficiency": _efficiency,
    "valid": _valid,
    "costs": _costs,
}
"""By name."""


@dataclass(frozen=True)
class About:
    """New opinions of the environment."""

    records: list[Feedback] = field(default_factory=list[Feedback])
    known: int = 0
    """Opinions that stand already."""
    without: int = 0
    """Episodes without a return, which have none."""


def about(
    episodes: Iterable[Trajectory],
    rules: Iterable[str],
    said: Iterable[Feedback] = (),
    shown: Iterable[Trajectory] = (),
) -> About:
    """Opinions by these rules of episodes that have a return, without those that stand in `said`.

    `shown` are the expert's episodes, which tell its length.
    """
    known = {thing(one): one.opinion for one in standing(said) if one.source_kind == "environment"}
    lengths, chosen = expert_lengths(shown), list(rules)
    records, old, without = list[Feedback](), 0, 0
    for episode in episodes:
        if episode.total_reward is None:
            without += 1
            continue
        for record in _of(episode, chosen, lengths):
            if known.get(thing(record)) == record.opinion:
                old += 1
            else:
                records.append(record)
    return About(records, old, without)


def expert_lengths(shown: Iterable[Trajectory]) -> dict[tuple[str, str], int]:
    """The smallest number of turns in which the expert won each task."""
    found: dict[tuple[str, str], int] = {}
    for episode in shown:
        if episode.succeeded() and episode.turns:
            place, turns = (episode.env, start_of(episode)), len(episode.turns)
            found[place] = min(found.get(place, turns), turns)
    return found


def _of(episode: Trajectory, rules: Iterable[str], lengths: Lengths) -> Iterator[Feedback]:
    for rule in rules:
        for turn, opinion in RULES[rule](episode, lengths):
            yield feedback(
                {
                    "trajectory_id": episode.id,
                    "turn": turn,
                    "source": f"environment:{rule}",
                    "opinion": opinion,
                    "rubric_version": VERSION,
                }
            )
