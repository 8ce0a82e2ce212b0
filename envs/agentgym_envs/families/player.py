"""Player with an agent's view: it calls tools, reads observations, and forgets.

It follows the program of its goal, whose arguments the goal names or earlier observations gave.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from agentgym_envs.core import StepResult
from agentgym_envs.families.drafts import Unsuitable
from agentgym_envs.families.tasks import FamilyTask, Generator
from agentgym_envs.formats import render_thinking
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.calls import written

SLIP = 0.1
"""Probability of a slip before a call: a misspelt tool, which the player corrects at once."""
THOUGHTS = ("I look that up with {}.", "Next is {}.", "{} tells me more.", "I need {} for this.")


class _Stuck(Exception):
    """The player does not know how to go on."""


@dataclass
class _Hand:
    """An `Ask` that plays its calls in an environment, and leaves out some of them."""

    environment: ToolEnvironment[Any, Any]
    draw: random.Random
    care: float
    actions: list[str] = field(default_factory=list[str])
    remembered: dict[str, Any] = field(default_factory=dict[str, Any])
    """Latest result by tool."""

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        """The observation of a call; of an earlier one of the same tool where this one is forgotten."""
        if self.draw.random() >= self.care:
            if tool not in self.remembered:
                raise _Stuck
            return self.remembered[tool]
        if self.draw.random() < SLIP:
            self.say(f"{tool}s", arguments)
        result = self.say(tool, arguments)
        if result.terminated or result.truncated:
            raise _Stuck
        self.remembered[tool] = value = json.loads(result.observation.text)
        if result.observation.text.startswith('{"error"'):
            raise _Stuck
        return value

    def say(self, tool: str, arguments: dict[str, Any]) -> StepResult:
        """Play a call."""
        call = written(tool, **arguments)
        self.actions.append(render_thinking(self.draw.choice(THOUGHTS).format(tool), call))
        return self.environment.step(call)


def played(
    environment: ToolEnvironment[Any, Any],
    task: FamilyTask,
    generator: Generator[Any],
    seed: int,
    care: float,
) -> list[str]:
    """Messages of an episode. Each call is made with probability `care`; who cannot go on, gives up."""
    draft, _, _ = generator.drafted(*generator.place(task.id), task.attempt)
    if draft is None:
        raise RuntimeError(f"task {task.id!r} has no draft")
    environment.reset(task, seed)
    hand = _Hand(environment, random.Random(f"{task.id}/{seed}"), care)
    try:
        value = draft.solve(hand)
    except (
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        Unsuitable,
        _Stuck,
    ):  # a forgotten call leaves a gap
        value = None
    answer = "done" if draft.kind is None else value
    hand.say("finish", dict(generator.ending(answer)))
    return hand.actions
