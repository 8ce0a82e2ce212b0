"""An episode of a level: views, choices, and the actions of minigrid behind one action of the text layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentgym_envs.babyai.actions import CHECK, Choices, choices
from agentgym_envs.babyai.routes import Routes, routes
from agentgym_envs.babyai.view import View, described, seen


@dataclass(frozen=True)
class Moment:
    """View of an episode with its routes and choices."""

    image: bytes
    """Encoded view."""
    view: View
    routes: Routes
    choices: Choices

    @property
    def text(self) -> str:
        """Description of the view."""
        return described(self.view)

    @property
    def listed(self) -> str:
        """The list of actions below an observation."""
        return "\nAvailable actions: [" + ", ".join(f'"{one}"' for one in self.choices.plans) + "]"

    @property
    def actions(self) -> tuple[str, ...]:
        """Actions, sorted."""
        return tuple(sorted(self.choices.plans))

    def plan(self, action: str) -> list[int] | None:
        """Actions of minigrid for an action; None where it is refused or only asks."""
        plan = self.choices.plans.get(action)
        return None if plan is None or action == CHECK else plan.actions(self.routes)


@dataclass(frozen=True)
class Outcome:
    """Outcome of minigrid's last action."""

    reward: float
    terminated: bool
    truncated: bool
    steps: int
    """Number of actions that were executed."""
    image: Any
    """Encoded view after it."""


def moment(level: Any, image: Any, *, original: bool) -> Moment:
    """Moment of a level whose encoded view is `image`; `original`: as AgentGym's server has it."""
    view = seen(level, image.tolist())
    found = routes(view, wide=original)
    return Moment(image.tobytes(), view, found, choices(view, found, original=original))


def perform(level: Any, actions: Sequence[int], before: bytes, *, original: bool) -> Outcome:
    """Execute at least one action, until one leaves the encoded view `before` as it was, or ends the episode.

    `original`: the episode's end stops nothing, and the last action's outcome is that of all, as in AgentGym.
    """
    outcome: Outcome | None = None
    for steps, action in enumerate(actions, 1):
        observed, reward, terminated, truncated, _ = level.step(action)
        image = observed["image"]
        outcome = Outcome(float(reward), bool(terminated), bool(truncated), steps, image)
        after = image.tobytes()
        if after == before or (not original and (terminated or truncated)):
            break
        before = after
    if outcome is None:
        raise ValueError("there is no action")
    return outcome
