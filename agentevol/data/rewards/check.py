"""Conformance checks of reward functions, potentials and turn rewards on example episodes.

> check_reward("success").lines()[0]
'ok    numbers     4 checked'

`agentevol check reward NAME`, `check shaping NAME` and `check turn-reward NAME` print the reports.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, get_args, get_origin

from agentevol.config.rewards.registries import REWARDS
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.options import options_of
from agentevol.core.conformance import Violations, check_result, unless
from agentevol.core.errors import ConfigError
from agentevol.data.rewards.potentials import Potential, histories, potential_of, potentials
from agentevol.data.rewards.reward_functions import (
    RewardFunction,
    episode_scores,
    option_types,
    reward_function,
)
from agentevol.data.rewards.testing import HOSTILE, example_episodes
from agentevol.data.rewards.turn_rewards import TurnReward, turn_reward, turn_rewards
from agentgym_envs.testing import Report
from agentgym_store.records import Trajectory

COUNTS = (0, 1, 12)
"""Numbers of episodes that a reward function is called with."""
FACTORS = (0.5, 0.9, 2.0)
"""Factors by which a numeric option is changed to see its effect."""


def check_reward(name: str) -> Report:
    """Hold a reward function against its contract. Raises `ConfigError` where there is none."""
    function = reward_function(name)
    checks: dict[str, Callable[[], Violations]] = {
        "numbers": partial(_numbers, name, function),
        "order": partial(_order, name, function),
        "equal": partial(_equal, lambda: episode_scores(name, function, example_episodes(2))),
        "options": partial(_options, name),
    }
    return _report(name, checks)


def check_potential(name: str) -> Report:
    """Hold a potential against its contract. Raises `ConfigError` where there is none."""
    potential = potential_of(name)
    checks: dict[str, Callable[[], Violations]] = {
        "numbers": partial(_potential_numbers, name, potential),
        "history": partial(_history_alone, potential),
        "equal": partial(
            _equal, lambda: [potentials(name, potential, one).tolist() for one in example_episodes(2)]
        ),
        "effect": partial(_differs, name, potential),
    }
    return _report(name, checks)


def check_turn_reward(name: str) -> Report:
    """Hold a turn reward against its contract. Raises `ConfigError` where there is none."""
    function = turn_reward(name)
    checks: dict[str, Callable[[], Violations]] = {
        "numbers": partial(_turn_numbers, name, function),
        "equal": partial(_equal, lambda: [turn_rewards(name, function, one) for one in example_episodes(2)]),
        "effect": partial(_changes, name, function),
    }
    return _report(name, checks)


def _report(name: str, checks: Mapping[str, Callable[[], Violations]]) -> Report:
    return Report(env=name, results=tuple(check_result(kind, check) for kind, check in checks.items()))


def _numbers(name: str, function: RewardFunction) -> Violations:
    """One finite number for each episode, for no episode, one and several, with hostile texts too."""
    for count in COUNTS:
        episode_scores(name, function, example_episodes(1, count))
        yield None
    episode_scores(name, function, [_said(one, text) for one in example_episodes(3, 1) for text in HOSTILE])
    yield None


def _said(episode: Trajectory, text: str) -> Trajectory:
    """The episode with this text as every reply and observation."""
    turns = [
        turn.model_copy(
            update={
                "action": text,
                "observation": text,
                "sample": None if turn.sample is None else turn.sample.model_copy(update={"text": text}),
            }
        )
        for turn in episode.turns
    ]
    return episode.model_copy(update={"turns": tuple(turns), "id": f"{episode.id}/{HOSTILE.index(text)}"})


def _order(name: str, function: RewardFunction) -> Violations:
    """The order of episodes changes nothing."""
    episodes = example_episodes(4)
    mixed = Random(0).sample(episodes, len(episodes))
    before, after = list(function(episodes)), list(function(mixed))
    by_id = {one.id: value for one, value in zip(mixed, after, strict=True)}
    yield unless(
        [by_id[one.id] for one in episodes] == before,
        f"{name} gives episodes other numbers in another order",
    )


def _equal(found: Callable[[], object]) -> Violations:
    """Equal inputs give equal results."""
    yield unless(found() == found(), "equal inputs give other results")


def _options(name: str) -> Violations:
    """Every option has an effect."""
    found = REWARDS.load(name)
    types, defaults = option_types(found), options_of(found)
    for option in sorted(types):
        others = list(_other_values(name, option, types[option], defaults[option].default))
        effects = [_scores_with(name, {option: value}) != _scores_with(name, {}) for value in others]
        yield unless(any(effects), f"option {option!r} has no effect with {', '.join(map(repr, others))}")


def _other_values(name: str, option: str, kind: Any, default: Any) -> Iterator[Option]:
    """Values of an option that it can take, other than its default."""
    declared = get_args(kind)[0] if get_origin(kind) is not None and hasattr(kind, "__metadata__") else kind
    values: Sequence[Option] = [choice for choice in get_args(declared) if choice != default]
    if isinstance(default, bool):
        values = [not default]
    elif isinstance(default, int):
        values = [default + 1, default - 1]
    elif isinstance(default, float):
        values = [default * factor for factor in FACTORS] + [default + 0.5]
    for value in values:
        try:
            reward_function(name, {option: value})
        except ConfigError:  # out of its range
            continue
        yield value


def _scores_with(name: str, options: Mapping[str, Option]) -> dict[str, float]:
    episodes = [one for seed in range(4) for one in _renamed(example_episodes(seed), seed)]
    return episode_scores(name, reward_function(name, options), episodes)


def _renamed(episodes: Sequence[Trajectory], seed: int) -> list[Trajectory]:
    return [one.model_copy(update={"id": f"{seed}/{one.id}"}) for one in episodes]


def _potential_numbers(name: str, potential: Potential) -> Violations:
    """A finite number for every state, with hostile texts too."""
    for episode in [*example_episodes(1), *(_said(example_episodes(3, 1)[0], text) for text in HOSTILE)]:
        potentials(name, potential, episode)
        yield None


def _history_alone(potential: Potential) -> Violations:
    """States of equal histories have equal potentials, in whatever order they are asked for."""
    states = [state for episode in example_episodes(4) for state in histories(episode)]
    before = [potential(state) for state in states]
    mixed = Random(0).sample(range(len(states)), len(states))
    after = {place: potential(replace(states[place])) for place in mixed}
    yield unless(
        [after[place] for place in range(len(states))] == before,
        "a history has another potential when others were asked for in between",
    )


def _differs(name: str, potential: Potential) -> Violations:
    """Some states differ: a constant shapes nothing but the start and the end."""
    found = [value for one in example_episodes(5) for value in potentials(name, potential, one).tolist()]
    yield unless(len(set(found)) > 1, f"all states have the potential {found[0]:g}: nothing is shaped")


def _turn_numbers(name: str, function: TurnReward) -> Violations:
    """A finite number for every turn, with hostile texts and huge rewards too."""
    for episode in [*example_episodes(1), *(_said(example_episodes(3, 1)[0], text) for text in HOSTILE)]:
        huge = [turn.model_copy(update={"reward": 1e6}) for turn in episode.turns]
        for one in (episode, episode.model_copy(update={"turns": tuple(huge)})):
            turn_rewards(name, function, one)
            yield None


def _changes(name: str, function: TurnReward) -> Violations:
    """Some turn has another reward than the environment's."""
    changed = any(
        turn_rewards(name, function, one) != tuple(turn.reward for turn in one.turns)
        for one in example_episodes(5)
    )
    yield unless(changed, "every turn keeps the environment's reward: it has no effect")
