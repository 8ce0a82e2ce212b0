"""Verification of a conversation: `verifiable`, `verify`."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification import friends, price, split
from agentgym_envs.sotopia.verification.deals import both_move
from agentgym_envs.sotopia.verification.friends import FriendsGoal
from agentgym_envs.sotopia.verification.price import PriceGoal
from agentgym_envs.sotopia.verification.speech import Log, is_one_sided
from agentgym_envs.sotopia.verification.split import SplitGoal
from agentgym_envs.sotopia.verification.verdict import Verdict

Goal = PriceGoal | SplitGoal | FriendsGoal
Reading = Literal["words", "moves"]
"""`words`: free conversations; what nobody clearly says is undecided. `moves`: conversations whose speakers
were told that only moves count; everything is decided, and without an agreement by moves there is none.
"""

_READERS: Final[Mapping[str, Callable[[Scene], Goal | None]]] = {
    price.SOURCE: price.read_goal,
    split.SOURCE: split.read_goal,
    friends.SOURCE: friends.read_goal,
}


def verifiable(scene: Scene) -> Goal | None:
    """The goal of a scene that a program can check; None for other scenes, and where it cannot be read."""
    reader = _READERS.get(scene.environment.source)
    return reader(scene) if reader else None


def verify(scene: Scene, log: Log, reading: Reading = "words") -> Verdict:
    """Scores of both seats by the rules; raises `ValueError` for a scene that is not `verifiable`.

    In `words`, an agreement by moves counts too, and moves alone if both seats make them. Nothing that a
    seat claims about its own score counts.
    """
    goal = verifiable(scene)
    if goal is None:
        raise ValueError(f"no program can check the goals of {scene.environment.pk!r}")
    by_moves = goal.by_moves(log)
    if reading == "moves" or by_moves.agreed or both_move(log, goal.read):
        return by_moves
    if is_one_sided(log):
        return goal.failed("a seat neither says nor does anything")
    return goal.by_words(log)
