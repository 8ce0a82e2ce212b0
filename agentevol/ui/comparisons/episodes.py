"""Two episodes side by side."""

from dataclasses import dataclass
from itertools import zip_longest

from agentevol.ui.reader.view import outcome, verdict
from agentevol.ui.text import TEXT_LIMIT
from agentgym_store.records import Trajectory, Turn, message_of

MOST_TURNS = 400
CELL_LIMIT = TEXT_LIMIT // 4
"""Characters of a text in a cell; the reader shows more."""


@dataclass(frozen=True)
class Cell:
    """A turn of one of the episodes."""

    action: str
    thought: str
    """The message, where it is more than the action."""
    observation: str
    reward: float


@dataclass(frozen=True)
class Pair:
    """The turns with one number; None where an episode has ended."""

    number: int
    first: Cell | None
    second: Cell | None
    differs: tuple[str, ...]
    """Parts that differ: `action`, `observation`, `reward`."""
    is_first_difference: bool = False


@dataclass(frozen=True)
class EpisodeComparison:
    """The comparison of two episodes."""

    same_task: bool
    verdicts: tuple[str, str]
    outcomes: tuple[str, str]
    same_start: bool
    """True if the first observations are equal."""
    pairs: tuple[Pair, ...]
    first_difference: int | None
    """Number of the first turn that differs; None where all are equal."""
    hidden: int


def compare_episodes(first: Trajectory, second: Trajectory) -> EpisodeComparison:
    """Compare by the number of the turn."""
    turns = list(zip_longest(first.turns, second.turns))
    differing = [differences(*pair) for pair in turns]
    place = next((number for number, found in enumerate(differing) if found), None)
    pairs = [
        Pair(number + 1, _cell(one), _cell(other), differing[number], number == place)
        for number, (one, other) in enumerate(turns[:MOST_TURNS])
    ]
    return EpisodeComparison(
        (first.env, first.task_id) == (second.env, second.task_id),
        (verdict(first), verdict(second)),
        (outcome(first), outcome(second)),
        first.initial_observation == second.initial_observation,
        tuple(pairs),
        None if place is None else place + 1,
        max(0, len(turns) - MOST_TURNS),
    )


def differences(first: Turn | None, second: Turn | None) -> tuple[str, ...]:
    """Parts in which two turns differ; messages that lead to the same action do not."""
    if first is None or second is None:
        return ("action", "observation", "reward")
    return tuple(
        name for name in ("action", "observation", "reward") if getattr(first, name) != getattr(second, name)
    )


def _cell(turn: Turn | None) -> Cell | None:
    if turn is None:
        return None
    message = message_of(turn)
    thought = message if message.strip() != turn.action.strip() else ""
    return Cell(turn.action[:CELL_LIMIT], thought[:CELL_LIMIT], turn.observation[:CELL_LIMIT], turn.reward)
