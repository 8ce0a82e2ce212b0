"""Actions of the text layer: what can be done from a view, by which of minigrid's actions, and refusals."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from agentgym_envs.babyai.routes import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, Routes, Spot
from agentgym_envs.babyai.view import OBSTACLES, Thing, View

CHECK: Final = "check available actions"
UNKNOWN: Final = "The action is not recognized. Please check valid actions."
UNCHANGED: Final = "No change in state."
AHEAD: Final = (1, 0)
NO_PATH: Final = "as there is no path leading to it."


@dataclass(frozen=True, slots=True)
class Plan:
    """A route, and actions at its end."""

    then: tuple[int, ...] = ()
    to: Spot | None = None
    """Cell of the route; None: the agent stays where it is."""
    onto: bool = False
    """Whether the route ends on the cell, not in front of it."""

    def actions(self, routes: Routes) -> list[int]:
        """Actions of minigrid."""
        if self.to is None:
            return list(self.then)
        route = routes.onto(self.to) if self.onto else routes.facing(self.to)
        return [*(route or []), *self.then]


@dataclass
class Choices:
    """Plans by action, in the order in which they are listed, and the reasons why others are refused."""

    plans: dict[str, Plan] = field(default_factory=dict[str, Plan])
    refusals: dict[str, str] = field(default_factory=dict[str, str])

    def why_not(self, action: str) -> str:
        """Reason why an action that has no plan is refused."""
        return self.refusals.get(action, UNKNOWN) if action else UNCHANGED


def choices(view: View, routes: Routes, *, original: bool) -> Choices:
    """Choices of a view. `original`: those of AgentGym's server, which counts the things that a route leads
    to, so that a number may mean another thing than in the observation, and which cannot open a box.
    """
    found = Choices({"turn left": Plan((LEFT,)), "turn right": Plan((RIGHT,))})
    if view.barrier is None or view.barrier.forward > 1:
        found.plans["move forward"] = Plan((FORWARD,))
    else:
        found.refusals["move forward"] = "There is a barrier in front of you, you can't move forward."
    if view.held is None:
        _pick_up(found, view, routes, original=original)
    _drop(found, view)
    _doors(found, view, routes, original=original)
    if not original and any(one.kind == "box" and one.spot == AHEAD for one in view.things):
        found.plans["toggle"] = Plan((TOGGLE,))
    _go(found, view, routes, original=original)
    found.plans[CHECK] = Plan()
    return found


def _pick_up(found: Choices, view: View, routes: Routes, *, original: bool) -> None:
    for thing, name in _named(view, routes, without=("door", "goal"), original=original):
        if routes.facing(thing.spot) is not None:
            found.plans[f"pickup {name}"] = Plan((PICKUP,), thing.spot)
        else:
            found.refusals[f"pickup {name}"] = f"You cannot pickup {name}, {NO_PATH}"


def _drop(found: Choices, view: View) -> None:
    if view.held is None:
        found.refusals["drop"] = "You cannot drop the object, as you are not carrying anything."
    elif any(one.spot == AHEAD and one.kind in OBSTACLES for one in view.things):
        found.refusals["drop"] = "You cannot drop the object, as there is already an object in front of you."
    else:
        found.plans["drop"] = Plan((DROP,))


def _doors(found: Choices, view: View, routes: Routes, *, original: bool) -> None:
    counts = Counter[str]()
    for thing, number in view.numbered():
        if thing.kind != "door":
            continue
        counts[thing.name] += 1
        name = f"{thing.name} {number}"
        if thing.name.endswith("open door"):
            if routes.onto(thing.spot) is not None:
                found.plans[f"go through {name}"] = Plan((), thing.spot, onto=True)
            else:
                found.refusals[f"go through {name}"] = f"You cannot go through {name}, {NO_PATH}"
            continue
        # AgentGym's refusal has all its numbers of doors so far in place of the one.
        shown = f"{thing.name} {dict(counts)}" if original else name
        _unopened(found, view, routes, thing, name, shown)


def _unopened(found: Choices, view: View, routes: Routes, door: Thing, name: str, shown: str) -> None:
    action, held = f"toggle and go through {name}", view.held
    if door.name.endswith("closed door"):
        found.refusals[f"go through {name}"] = (
            f"You cannot go through {name}, as it is closed. You should toggle it first."
        )
    elif held is None or held[1] != "key":
        found.refusals[action] = f"You cannot {action}, as you are not carrying a key."
        return
    elif held[0] != door.name.split()[0]:
        found.refusals[action] = (
            f"You cannot {action}, as the color of the key you are carrying does not match the color of door."
        )
        return
    route = routes.facing(door.spot)
    if route is None:
        found.refusals[action] = f"You cannot toggle and go through {shown}, {NO_PATH}"
        return
    found.plans[action] = Plan((TOGGLE, FORWARD), door.spot)
    if not route:
        found.plans["toggle"] = Plan((TOGGLE,))


def _go(found: Choices, view: View, routes: Routes, *, original: bool) -> None:
    for thing in view.things:
        if thing.kind == "goal":
            if routes.onto(thing.spot) is not None:
                found.plans["go to goal"] = Plan((), thing.spot, onto=True)
            else:
                found.refusals["go to goal"] = f"You cannot go to the goal, {NO_PATH}"
    for thing, name in _named(view, routes, without=("goal",), original=original):
        if routes.facing(thing.spot) is not None:
            found.plans[f"go to {name}"] = Plan((), thing.spot)
        else:
            found.refusals[f"go to {name}"] = f"You cannot go to {name}, {NO_PATH}"


def _named(
    view: View, routes: Routes, *, without: tuple[str, ...], original: bool
) -> Iterator[tuple[Thing, str]]:
    """Things that are no wall and of no type in `without`, with name and number."""
    reached = Counter[str]()
    for thing, number in view.numbered():
        if thing.kind in without:
            continue
        shown = reached[thing.name] + 1 if original else number
        if routes.facing(thing.spot) is not None:
            reached[thing.name] += 1
        yield thing, f"{thing.name} {shown}"
