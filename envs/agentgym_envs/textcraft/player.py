"""A player that plans from its inventory, and forgets parts of its plan."""

from random import Random

from agentgym_envs.textcraft.crafting import Crafter
from agentgym_envs.textcraft.planner import Planner
from agentgym_envs.textcraft.recipes import RecipeBook


def played(book: RecipeBook, planner: Planner, goal: str, draw: Random, care: float, most: int) -> list[str]:
    """Commands until the goal is crafted, at most `most`; each is wrong with probability 1 - `care`: too few,
    an ingredient less, or a look at the inventory.
    """
    crafter, said = Crafter(book), list[str]()
    while len(said) < most and crafter.made != goal:
        command = planner.missing(goal, crafter.held)[0]
        said.append(command if draw.random() < care else _wrong(command, draw))
        crafter.do(said[-1])
    return said


def _wrong(command: str, draw: Random) -> str:
    verb, count, rest = command.split(" ", 2)
    if verb == "get" and int(count) > 1 and draw.random() < 0.5:
        return f"get {draw.randint(1, int(count) - 1)} {rest}"
    before, comma, _ = command.rpartition(", ")
    return before if comma and draw.random() < 0.5 else "inventory"
