"""Counts and lineage of the rows of an export, gathered while they are written."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from agentgym_store.exports.contract import Exported
from agentgym_store.records import Trajectory


@dataclass
class Group:
    """Rows of one environment, and the episodes that they were made of."""

    rows: int = 0
    episodes: int = 0
    turns: int = 0
    scored: int = 0
    """Episodes with a return."""
    successes: int = 0
    total_reward: float = 0.0
    least: float | None = None
    """Lowest return."""
    most: float | None = None
    """Highest return."""

    def add(self, episode: Trajectory) -> None:
        """Count an episode."""
        self.episodes += 1
        self.turns += len(episode.turns)
        reward = episode.total_reward
        if reward is None:
            return
        self.scored += 1
        self.successes += episode.succeeded()
        self.total_reward += reward
        self.least = reward if self.least is None else min(self.least, reward)
        self.most = reward if self.most is None else max(self.most, reward)


@dataclass
class Range:
    """Episodes with a name, and the range of their numbers: iterations of a run, versions of a policy."""

    episodes: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, numbers: Iterable[int]) -> None:
        """Count an episode with these numbers, if it has any."""
        self.episodes += 1
        for number in numbers:
            self.first = number if self.first is None else min(self.first, number)
            self.last = number if self.last is None else max(self.last, number)


@dataclass
class Facts:
    """Facts that a data card tells of the rows."""

    rows: dict[str, int] = field(default_factory=dict[str, int])
    """By split."""
    environments: dict[str, Group] = field(default_factory=dict[str, Group])
    sources: dict[str, int] = field(default_factory=dict[str, int])
    """Environment, its version and that of its data, as a JSON list -> episodes."""
    runs: dict[str, Range] = field(default_factory=dict[str, Range])
    """With iterations."""
    policies: dict[str, Range] = field(default_factory=dict[str, Range])
    """With the versions of the weights that sampled."""
    purposes: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, state: dict[str, Any] | None) -> "Facts":
        """The facts that `as_state` saved."""
        if state is None:
            return cls()
        return cls(
            rows=state["rows"],
            environments={name: Group(**one) for name, one in state["environments"].items()},
            sources=state["sources"],
            runs={name: Range(**one) for name, one in state["runs"].items()},
            policies={name: Range(**one) for name, one in state["policies"].items()},
            purposes=state["purposes"],
        )

    def as_state(self) -> dict[str, Any]:
        """The facts as a JSON value."""
        return asdict(self)

    def add(self, split: str, written: Iterable[Exported]) -> None:
        """Count rows of one split; all rows of an episode come in one call."""
        seen: set[str] = set()
        self.rows.setdefault(split, 0)
        for exported in written:
            self.rows[split] += 1
            self._group(exported.episodes[0].env).rows += 1
            for episode in exported.episodes:
                if episode.id not in seen:
                    seen.add(episode.id)
                    self._note(episode)

    def _note(self, episode: Trajectory) -> None:
        self._group(episode.env).add(episode)
        source = json.dumps([episode.env, episode.env_version, episode.data_version])
        self.sources[source] = self.sources.get(source, 0) + 1
        self.purposes[episode.purpose] = self.purposes.get(episode.purpose, 0) + 1
        self.runs.setdefault(episode.run, Range()).add([episode.iteration])
        versions = {turn.sample.policy_version for turn in episode.turns if turn.sample is not None}
        self.policies.setdefault(episode.policy, Range()).add(versions)

    def _group(self, env: str) -> Group:
        return self.environments.setdefault(env, Group())
