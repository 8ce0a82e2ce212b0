"""The environment `movie`."""

from collections.abc import Mapping
from typing import Any

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.movie.questions import FORMS
from agentgym_envs.families.movie.tools import TOOLS, MovieState
from agentgym_envs.families.tasks import Generator, counted
from agentgym_envs.knowledge.rows import Draw

WORLDS = {"train": 8, "valid": 2, "test": 4, "agentgym": 6}
"""Number of worlds by split."""


def _setting(split: str, draw: Draw) -> dict[str, Any]:
    return {"world": draw.randrange(WORLDS[split])}


def _state(split: str, setting: Mapping[str, Any]) -> MovieState:
    return MovieState(split=split, **setting)


class Movie(FamilyEnvironment[MovieState]):
    """Questions about films, casts and crews."""

    name = "movie"
    toolset = TOOLS
    generator = Generator(
        name=name,
        tools=TOOLS,
        counts=counted(400, 100, 200, 238),
        forms=FORMS,
        proportions={"string": 202, "list": 21, "integer": 12, "number": 3},
        draw_setting=_setting,
        make_state=_state,
    )
