"""Players of the text layer: minigrid's bot goes ahead, and listed actions follow it.

Of the listed actions the one is taken that leads furthest along the bot's path: it ends in a pose of the path
with the same things touched, and the same parts of the mission done.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from agentgym_envs.babyai.bot import FAULTS, Guide, Point, Touch, guide, point
from agentgym_envs.babyai.episode import Moment, Outcome, moment, perform
from agentgym_envs.babyai.routes import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE
from agentgym_envs.babyai.view import Pose


@dataclass(frozen=True)
class Played:
    """Actions of a player, and minigrid's reward for them."""

    actions: list[str]
    reward: float


@dataclass(frozen=True)
class _Step:
    """An action that leads `points` along the path; the level after it."""

    action: str
    points: int
    level: Any
    outcome: Outcome


def played(level: Any, draw: Random, care: float, most: int) -> Played:
    """Play a level that was just generated, in at most `most` actions.

    It knows of the grid what it has seen. With probability 1 - `care` an action is drawn at random.
    """
    try:
        found = guide(level)
    except FAULTS:  # nothing can be planned for a mission of a kind that the bot does not know
        return Played([], 0.0)
    actions: list[str] = []
    image, reward = level.gen_obs()["image"], 0.0
    is_over = False
    while len(actions) < most and not is_over:
        now = moment(level, image, original=False)
        if draw.random() >= care:
            action, outcome = _random_action(level, now, found, draw)
        else:
            step = _best_step(level, now, found.path)
            if step is None:
                break
            action, level, outcome = step.action, step.level, step.outcome
            found.advance(step.points)
        actions.append(action)
        image, reward, is_over = outcome.image, outcome.reward, outcome.terminated or outcome.truncated
    return Played(actions, reward)


def _random_action(level: Any, now: Moment, found: Guide, draw: Random) -> tuple[str, Outcome]:
    """A random action, after which the bot plans anew."""
    plans = {action: plan for action in now.choices.plans if (plan := now.plan(action))}
    action = draw.choice(list(plans))
    plan = plans[action]
    outcome = perform(level, plan, now.image, original=False)
    try:
        found.follow(plan[: outcome.steps])
    except FAULTS:
        found.path = []
    return action, outcome


def _best_step(level: Any, now: Moment, path: Sequence[Point]) -> _Step | None:
    """The action that leads furthest along the path; None where none does."""
    candidates: list[tuple[int, str]] = []
    for action in now.choices.plans:
        plan = now.plan(action)
        if plan:
            pose, touches = _predicted(now.view.pose, plan)
            candidates += [(points, action) for points in _places(path, pose, touches)]
    candidates.sort(key=lambda one: -one[0])
    for points, action in candidates:
        after = deepcopy(level)
        outcome = perform(after, now.plan(action) or [], now.image, original=False)
        wanted = path[points]
        if point(after, wanted.touches) == wanted:
            return _Step(action, points, after, outcome)
    return None


def _places(path: Sequence[Point], pose: Pose, touches: tuple[Touch, ...]) -> list[int]:
    """Points of the path with this pose, to which exactly these touches lead."""
    wanted = (*path[0].touches, *touches) if path else ()
    return [at for at in range(1, len(path)) if path[at].pose == pose and path[at].touches == wanted]


def _predicted(pose: Pose, plan: Sequence[int]) -> tuple[Pose, tuple[Touch, ...]]:
    """Pose and touches after a plan, if nothing stops it."""
    touches: list[Touch] = []
    for action in plan:
        if action == FORWARD:
            pose = Pose(pose.ahead, pose.direction)
        elif action in (LEFT, RIGHT):
            pose = Pose(pose.cell, (pose.direction + (1 if action == RIGHT else -1)) % 4)
        elif action in (PICKUP, DROP, TOGGLE):
            touches.append((action, pose.ahead))
    return pose, tuple(touches)
