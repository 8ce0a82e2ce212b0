"""The environment `academia`."""

from collections.abc import Mapping
from typing import Any

from agentgym_envs.families.academia.questions import FORMS
from agentgym_envs.families.academia.tools import TOOLS, AcademiaState
from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.tasks import Generator, counted
from agentgym_envs.knowledge.rows import Draw

WORLDS = {"train": 8, "valid": 2, "test": 4, "agentgym": 2}
"""Number of worlds by split."""


def _setting(split: str, draw: Draw) -> dict[str, Any]:
    return {"world": draw.randrange(WORLDS[split])}


def _state(split: str, setting: Mapping[str, Any]) -> AcademiaState:
    return AcademiaState(split=split, **setting)


class Academia(FamilyEnvironment[AcademiaState]):
    """Questions about papers and authors."""

    name = "academia"
    toolset = TOOLS
    generator = Generator(
        name=name,
        tools=TOOLS,
        counts=counted(400, 100, 200, 20),
        forms=FORMS,
        proportions={"string": 12, "list": 5, "integer": 3},
        draw_setting=_setting,
        make_state=_state,
    )
