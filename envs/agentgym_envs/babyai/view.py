"""The agent's view of a BabyAI level: things by distance, the wall ahead, and the sentences about them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

Cell = tuple[int, int]
"""Column and row."""

STEPS: Final[tuple[Cell, ...]] = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Step forward by direction: east, south, west, north; the next direction is to the right."""
KINDS: Final = {2: "wall", 4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}
"""Types of things by minigrid's number."""
COLORS: Final = ("red", "green", "blue", "purple", "yellow", "grey")
STATES: Final = ("open", "closed", "locked")
BARRIERS: Final = ("wall", "box")
"""Types that the sentence about the way ahead names."""
OBSTACLES: Final = ("wall", "box", "lava", "ball", "key")
"""Types that no path leads through."""


@dataclass(frozen=True, slots=True)
class Pose:
    """Cell and direction of the agent."""

    cell: Cell
    direction: int

    @property
    def ahead(self) -> Cell:
        """The cell in front."""
        step = STEPS[self.direction]
        return (self.cell[0] + step[0], self.cell[1] + step[1])


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing in view."""

    kind: str
    name: str
    """Color and type, for doors also their state: `red closed door`."""
    forward: int
    """Steps ahead of the agent."""
    right: int
    """Steps to its right; negative to its left."""

    @property
    def spot(self) -> tuple[int, int]:
        """Its place, seen from the agent."""
        return (self.forward, self.right)

    @property
    def distance(self) -> int:
        """Manhattan distance."""
        return abs(self.forward) + abs(self.right)


@dataclass(frozen=True)
class View:
    """Things in the agent's sight, and the one that it carries."""

    pose: Pose
    things: tuple[Thing, ...]
    """By distance, walls included; equal distances from the far left, row by row."""
    held: tuple[str, str] | None
    """Color and type."""
    size: int
    """Rows and columns of the view; the agent stands in the middle of its last row."""

    @property
    def barrier(self) -> Thing | None:
        """The nearest wall or box straight ahead."""
        ahead = [one for one in self.things if one.right == 0 and one.kind in BARRIERS]
        return ahead[0] if ahead else None

    def numbered(self) -> Iterator[tuple[Thing, int]]:
        """Things but walls, and the number of each among those of its name."""
        counts = Counter[str]()
        for thing in self.things:
            if thing.kind != "wall":
                counts[thing.name] += 1
                yield thing, counts[thing.name]


def seen(level: Any, image: Sequence[Sequence[Sequence[int]]]) -> View:
    """View of minigrid's level, whose encoded image is `image` (column, row, and three numbers)."""
    pose = Pose((int(level.agent_pos[0]), int(level.agent_pos[1])), int(level.agent_dir))
    size = len(image)
    (forward_x, forward_y), (right_x, right_y) = STEPS[pose.direction], STEPS[(pose.direction + 1) % 4]
    things: list[Thing] = []
    for row in range(size):
        for column in range(size):
            number, color, state = image[column][row]
            kind = KINDS.get(number)
            forward, right = size - 1 - row, column - size // 2
            if kind is None or forward == right == 0:  # the agent's own cell shows what it carries
                continue
            x = pose.cell[0] + forward * forward_x + right * right_x
            y = pose.cell[1] + forward * forward_y + right * right_y
            if x < 0 or y < 0:
                continue
            name = f"{COLORS[color]} {STATES[state]} door" if kind == "door" else f"{COLORS[color]} {kind}"
            things.append(Thing(kind, name, forward, right))
    things.sort(key=lambda thing: thing.distance)
    held = (level.carrying.color, level.carrying.type) if level.carrying else None
    return View(pose, tuple(things), held, size)


def described(view: View) -> str:
    """Observation of a view."""
    return _things(view) + _barrier(view) + _held(view)


def _things(view: View) -> str:
    if not view.things:
        return "You cannot see any objects within sight."
    text = "In front of you in this room, you can see several objects: "
    for thing, number in view.numbered():
        text += f"There is a {thing.name} {number} {_place(thing)} "
    return text


def _place(thing: Thing) -> str:
    if thing.right == 0:
        return f"right in front of you {thing.forward} steps away. "
    side = "right" if thing.right > 0 else "left"
    return f"{thing.forward} steps in front of you and {abs(thing.right)} steps to your {side}. "


def _barrier(view: View) -> str:
    text = "The room has walls around you. "
    if view.barrier is None:
        return text
    return f"{text}You are facing a {view.barrier.kind} {view.barrier.forward} steps away. "


def _held(view: View) -> str:
    if view.held is None:
        return "You are not carrying anything."
    return f"You are carrying a {view.held[0]} {view.held[1]}."
