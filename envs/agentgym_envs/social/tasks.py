"""Generated tasks: `SocialTask`, by split, family, difficulty and number.

A task is a pure function of its id and `VERSION`. The partner's hidden parameters are no part of it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from agentgym_envs.core import Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.social.content.people import characters
from agentgym_envs.social.families import FAMILIES, AnySetting
from agentgym_envs.social.family import LEVELS, AnyFamily
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene

NAME: Final = "social"
VERSION: Final = "1"
"""Part of `data_version`: another generator makes other tasks."""
COUNTS: Final = {"train": 100_000, "valid": 1_000, "test": 2_000}
"""Tasks of each family and difficulty by split."""

_ID = re.compile(r"([a-z]{1,10})/([a-z]{1,10})/([1-3])/(0|[1-9][0-9]{0,6})")


class SocialTask(Task):
    """A task of a family (`kind`). The fields below stay on the server."""

    seat: int
    """Seat of the agent where a partner has the other one."""
    people: tuple[AgentProfile, AgentProfile]
    relationship: int
    """Between the two characters; see `protocol.profiles.RELATIONSHIPS`."""
    scenario: str
    setting: AnySetting

    @property
    def family(self) -> AnyFamily:
        """The family of the task."""
        return FAMILIES[self.kind]

    def scene(self, goals: tuple[str, str]) -> Scene:
        """The profiles of an episode in which the seats have these goals."""
        profile = EnvironmentProfile(
            pk=self.id,
            codename=self.kind,
            source=NAME,
            scenario=self.scenario,
            agent_goals=goals,
            relationship=self.relationship,
        )
        return Scene(environment=profile, agents=self.people)


def tasks(split: str, families: Sequence[str], levels: Sequence[str]) -> Sequence[SocialTask]:
    """Tasks of a split in rounds that have one of each family and level, in an order that turns from round to
    round, so that tasks at equal distances are of all kinds. Raises `TaskNotFound` for an unknown split.
    """
    if split not in COUNTS:
        raise TaskNotFound(f"{NAME} has no split {split[:80]!r}; there are: {', '.join(COUNTS)}")
    kinds = [(family, level) for level in levels for family in families]

    def made(index: int) -> SocialTask:
        number, place = divmod(index, len(kinds))
        return generated(split, *kinds[(place + 7 * number) % len(kinds)], number)

    return LazySequence(len(kinds) * COUNTS[split], made)


def families_of(text: str) -> tuple[str, ...]:
    """Families by their names, separated by commas; all of them if there are none.

    Raises `ValueError` for an unknown one.
    """
    chosen = [name.strip() for name in text.split(",") if name.strip()] or list(FAMILIES)
    if unknown := [name for name in chosen if name not in FAMILIES]:
        raise ValueError(f"no family {unknown[0][:80]!r}; there are: {', '.join(FAMILIES)}")
    return tuple(dict.fromkeys(chosen))


def _known(text: str) -> str:
    families_of(text)
    return text


FamiliesOption = Annotated[
    str,
    AfterValidator(_known),
    Field(description="Families of generated tasks, separated by commas; all by default."),
]
"""Type of the option `families`."""


def task(task_id: str, families: Sequence[str]) -> SocialTask:
    """The task with this id. Raises `TaskNotFound`."""
    found = _ID.fullmatch(task_id)
    if not found or found[1] not in COUNTS or found[2] not in families or int(found[4]) >= COUNTS[found[1]]:
        raise TaskNotFound(f"{NAME} has no task {task_id[:80]!r}")
    return generated(found[1], found[2], found[3], int(found[4]))


@lru_cache(maxsize=1024)
def generated(split: str, name: str, level: str, number: int) -> SocialTask:
    """The task with this number; equal arguments give equal tasks on every machine."""
    if level not in LEVELS:
        raise ValueError(f"no difficulty {level[:80]!r}; there are: {', '.join(LEVELS)}")
    family = FAMILIES[name]
    task_id = f"{split}/{name}/{level}/{number}"
    draws = Random(f"{VERSION}/{task_id}")
    seat = draws.randrange(2)
    setting = family.setting(draws, split, level, seat)
    return SocialTask(
        env=NAME,
        id=task_id,
        split=split,
        instruction=family.goal(setting, seat),
        kind=name,
        difficulty=level,
        seat=seat,
        people=characters(draws, split, setting.first_names),
        relationship=draws.randrange(6),
        scenario=family.scenario(setting, split, draws.randrange(1 << 16)),
        setting=setting,
    )
