"""Drafts of tasks: a goal in words, and a program that solves it by calling tools.

A form draws a draft from a state. The program sees results of tools only, so that what solves a task can be
played by an agent too.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentgym_envs.families.answers import Scalar
from agentgym_envs.families.states import EpisodeState
from agentgym_envs.knowledge.rows import Draw
from agentgym_envs.tooluse import Tool
from agentgym_envs.tooluse.calls import written

StateT = TypeVar("StateT", bound=EpisodeState)
Ask = Callable[..., Any]
"""`ask("get_elevation", latitude=3, longitude=4)`: the result of a tool, as JSON gives it."""
Solve = Callable[[Ask], Any]
"""Program that returns the answer, None where it needs none."""


class Unsuitable(Exception):
    """A draft without a clear answer, which is drawn again."""


@dataclass(frozen=True)
class Draft:
    """A goal and its solution."""

    goal: str
    solve: Solve
    kind: Scalar | None = "string"
    """Type of the answer or of its items; None for an operation."""
    tolerance: float = 0.0
    ordered: bool = False
    guessable: bool = False
    """True if the goal names the possible answers, or there are few: then the answer needs evidence."""
    evidence: tuple[str, ...] = ()
    """Keys of the rows on which a guessable answer rests; by default, of those that the program reads."""
    operates: bool = False
    """True if the program changes the state."""


Form = Callable[[StateT, Draw], Draft | None]
"""Function that draws a draft; None where the drawn things do not fit."""


@dataclass
class Recorder:
    """An `Ask` that executes tools on a state and records the calls."""

    tools: Mapping[str, Tool]
    state: EpisodeState
    calls: list[str] = field(default_factory=list[str])

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a call."""
        found = self.tools[tool]
        checked: Any = found.check(arguments, "")
        value = found.run(self.state, **checked)
        self.calls.append(written(tool, **arguments))
        return json.loads(json.dumps(value))


def only(condition: bool) -> None:
    """Refuse the draft unless the condition holds; raises `Unsuitable`."""
    if not condition:
        raise Unsuitable


def best(scores: Mapping[str, float], largest: bool = True) -> str:
    """The only name with the largest (or smallest) score; raises `Unsuitable` for a tie."""
    wanted = max(scores.values()) if largest else min(scores.values())
    names = [name for name, score in scores.items() if score == wanted]
    only(len(names) == 1)
    return names[0]
