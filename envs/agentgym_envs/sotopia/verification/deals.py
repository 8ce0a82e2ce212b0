"""Agreements by moves: an offer of one seat that the other accepts."""

from typing import Any

from agentgym_envs.sotopia.moves import Move, Reader, utterance
from agentgym_envs.sotopia.verification.speech import Log


def moves(log: Log, read: Reader) -> list[dict[int, Move]]:
    """The moves of each step by seat; one at most is counted in an utterance."""
    found: list[dict[int, Move]] = []
    for both in log:
        said = {seat: utterance(action, read).move for seat, action in enumerate(both)}
        found.append({seat: move for seat, move in said.items() if move is not None})
    return found


def both_move(log: Log, read: Reader) -> bool:
    """Whether both seats made moves, so that both know their syntax."""
    return len({seat for step in moves(log, read) for seat in step}) == 2


def agreed_offer(log: Log, read: Reader) -> tuple[int, Any] | None:
    """Seat and value of the first `OFFER` that is accepted; None without one.

    An offer stands until its author replaces it. An acceptance means the partner's offer of an earlier step.
    Two that accept each other's offers in one step have agreed on nothing.
    """
    standing: dict[int, Any] = {}
    for step in moves(log, read):
        accepted = [1 - seat for seat, move in step.items() if move.name == "ACCEPT" and 1 - seat in standing]
        if len(accepted) == 1:
            return accepted[0], standing[accepted[0]]
        standing |= {seat: move.value for seat, move in step.items() if move.name == "OFFER"}
    return None


def read_answer(name: str, argument: str) -> bool | None:
    """The value of `ACCEPT` and `REJECT`, which have no argument."""
    return True if name in ("ACCEPT", "REJECT") and not argument else None
