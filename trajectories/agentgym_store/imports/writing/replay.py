"""Replay of imported episodes in this package's environments: whether their actions have the same effect.

    replayer = Replayer()
    replayer.check(episode)
    replayer.report()            # counts, and the first differences

An episode is replayed in process, from its task and seed. An observation that a foreign record does not have
is not compared.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgym_envs.core import DependencyFault, Environment, TaskNotFound, TaskUnplayable
from agentgym_envs.episodes import Player, follow
from agentgym_envs.registry import EnvironmentUnavailable, UnknownEnvironment, make
from agentgym_envs.tools import texts_with_tools
from agentgym_store.records import Trajectory

SHOWN = 20
"""Maximum number of differences that are named."""
TEXT = 120
"""Maximum characters of a text that is shown."""
BEFORE = 20
"""Of these, how many come before the first difference."""
CLOSE = 1e-6
"""Rewards that differ by less are the same."""


class Difference(NamedTuple):
    """The first difference between an episode and its replay."""

    episode: str
    where: str
    recorded: str
    replayed: str


@dataclass(frozen=True)
class ReplayReport:
    """Episodes by the result of their replay."""

    same: int
    different: dict[str, int]
    """First difference -> number of episodes."""
    not_replayed: dict[str, int]
    """Reason -> number of episodes."""
    differences: tuple[Difference, ...]
    """The first ones."""


class _NotReplayed(Exception):
    """The episode cannot be replayed; the message is the reason."""


@dataclass
class Replayer:
    """Replayer of episodes, with one instance of each environment."""

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of the environments' constructors."""

    def __post_init__(self) -> None:
        self._player = Player()
        self._made: dict[str, Environment[Any] | str] = {}
        self._same = 0
        self._different = Counter[str]()
        self._not_replayed = Counter[str]()
        self._differences: list[Difference] = []

    def check(self, episode: Trajectory) -> None:
        """Replay an episode and count the result."""
        try:
            found = self._difference(episode)
        except _NotReplayed as cause:
            self._not_replayed[str(cause)] += 1
            return
        if found is None:
            self._same += 1
            return
        self._different[f"{found.where.partition(' ')[0]}{self._versions(episode)}"] += 1
        if len(self._differences) < SHOWN:
            self._differences.append(found)

    def report(self) -> ReplayReport:
        """The results so far."""
        return ReplayReport(
            self._same, dict(self._different), dict(self._not_replayed), tuple(self._differences)
        )

    def close(self) -> None:
        """Close the environments."""
        for made in self._made.values():
            if not isinstance(made, str):
                made.close()
        self._player.close()

    def _environment(self, name: str) -> Environment[Any]:
        if name not in self._made:
            try:
                self._made[name] = make(name, **self.options)
            except UnknownEnvironment:
                self._made[name] = f"no environment is named {name!r}"
            except (EnvironmentUnavailable, TypeError, ValueError) as cause:
                self._made[name] = f"environment {name!r} cannot be made: {cause}"
        made = self._made[name]
        if isinstance(made, str):
            raise _NotReplayed(made)
        return made

    def _versions(self, episode: Trajectory) -> str:
        """The versions that an episode was recorded with, where they are known and others than those here."""
        environment = self._environment(episode.env)
        here = {"environment": environment.version, "data": environment.data_version}
        recorded = {"environment": episode.env_version, "data": episode.data_version}
        told = [
            f"{name} {version}, here {here[name]}"
            for name, version in recorded.items()
            if version not in ("", here[name]) and not version.startswith("imported:")
        ]
        return f" ({'; '.join(told)})" if told else ""

    def _difference(self, episode: Trajectory) -> Difference | None:
        """The first difference. Raises `_NotReplayed`."""
        if episode.episode_id is not None:
            raise _NotReplayed("an episode of several seats")
        environment = self._environment(episode.env)
        if not environment.deterministic:
            raise _NotReplayed(f"{episode.env} is not deterministic")
        try:
            task = environment.task(episode.task_id)
            actions = [turn.action for turn in episode.turns]
            played = self._player.play(
                environment, task, follow(actions), seed=episode.seed, max_turns=max(len(actions), 1)
            )
        except (TaskNotFound, TaskUnplayable) as cause:
            raise _NotReplayed(f"the task is not one of {episode.env}'s") from cause
        except DependencyFault as cause:
            raise _NotReplayed(f"a {cause.kind} of the environment failed") from cause
        except Exception as cause:  # whatever an environment raises
            raise _NotReplayed(f"{episode.env} raised {type(cause).__name__}") from cause
        texts = texts_with_tools([played.first, *(result.observation for result in played.results)])
        rewards = [result.reward for result in played.results]
        return _compared(episode, texts, rewards)


def _compared(episode: Trajectory, texts: list[str], rewards: list[float]) -> Difference | None:
    def differs(where: str, recorded: object, replayed: object) -> Difference:
        return Difference(episode.id, where, *_parting(str(recorded), str(replayed)))

    if not episode.initial_observation.endswith(texts[0]):
        return differs("opening", episode.initial_observation, texts[0])
    for number, turn in enumerate(episode.turns, start=1):
        if number >= len(texts):
            return differs(f"end after turn {number - 1}", f"turn {number}", "the episode is over")
        is_told = turn.observation or number < len(episode.turns)
        if is_told and turn.observation != texts[number]:
            return differs(f"observation of turn {number}", turn.observation, texts[number])
    total = episode.total_reward
    if total is not None and abs(total - sum(rewards)) > CLOSE:
        return differs("return of the episode", total, sum(rewards))
    return None


def _parting(recorded: str, replayed: str) -> tuple[str, str]:
    """Both texts around the first character in which they differ."""
    equal = next(
        (place for place, two in enumerate(zip(recorded, replayed, strict=False)) if two[0] != two[1]), None
    )
    place = min(len(recorded), len(replayed)) if equal is None else equal
    start = max(place - BEFORE, 0)
    dots = "..." if start else ""
    return dots + recorded[start : start + TEXT], dots + replayed[start : start + TEXT]
