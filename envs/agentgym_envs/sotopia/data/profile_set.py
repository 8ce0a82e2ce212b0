"""Scenarios, characters and their combinations: `ProfileSet`, and its records.

A task is a combination, and its id the position in the list, `sotopia/0` first: results of the benchmark name
combinations by position.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from agentgym_envs.core import TaskNotFound
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Profile, Scene

PREFIX = "sotopia/"
"""Start of a task's id; the position in the list of combinations follows."""
ALL, HARD = "all", "hard"
"""Splits of every combination, and of the hard ones; each source of scenarios is a split too."""
VERIFIABLE, JUDGED = "verifiable", "judged"
"""Splits of the combinations whose goals a program can check, and of the others."""
RESERVED = (ALL, HARD, VERIFIABLE, JUDGED, "train", "valid", "test")
"""Names of splits that no source may have."""


class SotopiaDataError(ValueError):
    """Profiles or episodes that cannot be read; the message names the file and the record, on one line."""


class Combo(Profile):
    """A scenario with a character in each seat."""

    env_id: str
    agent_ids: tuple[str, str]
    """By seat."""


class RelationshipProfile(BaseModel):
    """Relationship of two characters. Publishers choose pairs by it; no prompt shows it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    agent1_id: str
    agent2_id: str
    relationship: int = Field(ge=0, le=5)
    """Key of `agentgym_envs.sotopia.protocol.profiles.RELATIONSHIPS`."""
    background_story: str = ""

    @property
    def pair(self) -> frozenset[str]:
        """Keys of the two characters."""
        return frozenset((self.agent1_id, self.agent2_id))


@dataclass(frozen=True)
class ProfileSet:
    """Profiles whose references are complete."""

    environments: Mapping[str, EnvironmentProfile]
    """By key, in the order of the file; so are `agents`."""
    agents: Mapping[str, AgentProfile]
    combos: tuple[Combo, ...]
    hard: tuple[int, ...] = ()
    """Positions of the hard combinations, ascending."""
    relationships: tuple[RelationshipProfile, ...] = ()

    @cached_property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """Positions of the combinations of each split: `all`, `hard` if there are any, then the sources."""
        found: dict[str, list[int]] = {ALL: list(range(len(self.combos)))}
        if self.hard:
            found[HARD] = list(self.hard)
        sources = [self.environments[combo.env_id].source for combo in self.combos]
        for source in sorted({one for one in sources if one}):
            found[source] = [position for position, one in enumerate(sources) if one == source]
        return {split: tuple(positions) for split, positions in found.items()}

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have combinations, in a fixed order; they overlap."""
        return tuple(self.positions)

    def scene(self, position: int) -> Scene:
        """The scene of a combination; raises `TaskNotFound`."""
        if not 0 <= position < len(self.combos):
            raise TaskNotFound(f"there is no combination {position}, only {len(self.combos):,} from 0")
        combo = self.combos[position]
        return self.scene_of(combo.env_id, combo.agent_ids)

    def scene_of(self, environment: str, agents: tuple[str, str]) -> Scene:
        """The scene of a scenario and two characters by their keys; raises `SotopiaDataError`."""
        if environment not in self.environments:
            raise SotopiaDataError(f"there is no environment {environment[:80]!r}")
        for agent in agents:
            if agent not in self.agents:
                raise SotopiaDataError(f"there is no agent {agent[:80]!r}")
        seats = self.agents[agents[0]], self.agents[agents[1]]
        return Scene(environment=self.environments[environment], agents=seats)

    def find(self, task_id: str) -> int:
        """Position of a task by its id, or by the key of its combination; raises `TaskNotFound`."""
        number = task_id.removeprefix(PREFIX)
        if task_id.startswith(PREFIX) and number.isascii() and number.isdigit() and len(number) <= 9:
            if str(position := int(number)) == number and position < len(self.combos):
                return position
        elif task_id in self._keys:
            return self._keys[task_id]
        raise TaskNotFound(f"no task {task_id[:80]!r}: ids are {PREFIX}0 to {PREFIX}{len(self.combos) - 1}")

    def known_as(self, agents: tuple[str, str]) -> tuple[RelationshipProfile, ...]:
        """The profiles of the relationship of two characters, in the order of the file."""
        return self._pairs.get(frozenset(agents), ())

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {combo.pk: position for position, combo in enumerate(self.combos)}

    @cached_property
    def _pairs(self) -> dict[frozenset[str], tuple[RelationshipProfile, ...]]:
        found: dict[frozenset[str], tuple[RelationshipProfile, ...]] = {}
        for profile in self.relationships:
            found[profile.pair] = (*found.get(profile.pair, ()), profile)
        return found
