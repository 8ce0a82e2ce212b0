"""Games of ScienceWorld (arXiv:2203.07540): 30 tasks with 7,207 variations, their splits and order."""

from dataclasses import dataclass
from typing import Final

TASKS: Final[dict[str, tuple[str, int]]] = {
    "1-1": ("boil", 30),
    "1-2": ("melt", 30),
    "1-3": ("freeze", 30),
    "1-4": ("change-the-state-of-matter-of", 30),
    "2-1": ("use-thermometer", 540),
    "2-2": ("measure-melting-point-known-substance", 436),
    "2-3": ("measure-melting-point-unknown-substance", 300),
    "3-1": ("power-component", 20),
    "3-2": ("power-component-renewable-vs-nonrenewable-energy", 20),
    "3-3": ("test-conductivity", 900),
    "3-4": ("test-conductivity-of-unknown-substances", 600),
    "4-1": ("find-living-thing", 300),
    "4-2": ("find-non-living-thing", 300),
    "4-3": ("find-plant", 300),
    "4-4": ("find-animal", 300),
    "5-1": ("grow-plant", 126),
    "5-2": ("grow-fruit", 126),
    "6-1": ("chemistry-mix", 32),
    "6-2": ("chemistry-mix-paint-secondary-color", 36),
    "6-3": ("chemistry-mix-paint-tertiary-color", 36),
    "7-1": ("lifespan-longest-lived", 125),
    "7-2": ("lifespan-shortest-lived", 125),
    "7-3": ("lifespan-longest-lived-then-shortest-lived", 125),
    "8-1": ("identify-life-stages-1", 14),
    "8-2": ("identify-life-stages-2", 10),
    "9-1": ("inclined-plane-determine-angle", 168),
    "9-2": ("inclined-plane-friction-named-surfaces", 1386),
    "9-3": ("inclined-plane-friction-unnamed-surfaces", 162),
    "10-1": ("mendelian-genetics-known-plant", 120),
    "10-2": ("mendelian-genetics-unknown-plant", 480),
}
"""Name and number of variations by the task's id, in the package's order."""
NOT_IN_AGENTGYM: Final = frozenset({"5-1", "5-2", "9-1", "9-2", "9-3", "10-1", "10-2"})
SPLITS: Final = ("train", "valid", "test")
SIMPLIFICATIONS: Final = (
    *("easy", "teleportAction", "selfWateringFlowerPots", "openContainers", "openDoors"),
    "noElectricalAction",
)
"""Helpers that a game may have; `easy` is all of them."""


@dataclass(frozen=True)
class Game:
    """A task with one of its variations."""

    task: str
    variation: int

    @property
    def name(self) -> str:
        """Name of the task."""
        return TASKS[self.task][0]


def variations(task: str, split: str) -> range:
    """Variations of a task in a split: two quarters, a quarter, and what is left, as the package has them."""
    count = TASKS[task][1]
    quarter = count // 4
    bounds = (0, 2 * quarter, 3 * quarter, count)
    at = SPLITS.index(split)
    return range(bounds[at], bounds[at + 1])


def is_game(split: str, task: str, variation: str) -> bool:
    """Whether a split has this variation of a task."""
    return split in SPLITS and task in TASKS and int(variation) in variations(task, split)


def games(split: str, task: str | None = None) -> list[Game]:
    """Games of a split, all or of one task."""
    return [Game(one, at) for one in TASKS if task in (None, one) for at in variations(one, split)]


def agentgym_games() -> list[Game]:
    """Games by AgentGym's number."""
    return [
        Game(task, at)
        for task, (_, count) in TASKS.items()
        if task not in NOT_IN_AGENTGYM
        for at in range(count)
    ]
