"""Agreements by moves: an offer of one seat that the other accepts."""

from collections.abc import Callable

from agentgym_envs.sotopia.moves import Accept, Move, PriceOffer, SplitOffer, read_move
from agentgym_envs.sotopia.verification.speech import Log

Offer = PriceOffer | SplitOffer


def moves(log: Log) -> list[dict[int, Move]]:
    """The moves of each step by seat; one at most is counted in an utterance."""
    found: list[dict[int, Move]] = []
    for both in log:
        said = {seat: action.argument for seat, action in enumerate(both) if action.action_type == "speak"}
        read = {seat: read_move(text) for seat, text in said.items()}
        found.append({seat: move for seat, move in read.items() if move is not None})
    return found


def both_move(log: Log) -> bool:
    """Whether both seats made moves, so that both know their syntax."""
    return len({seat for step in moves(log) for seat in step}) == 2


def agreed_offer(log: Log, is_valid: Callable[[Offer], bool]) -> tuple[int, Offer] | None:
    """Seat and offer of the first agreement; None without one.

    An offer stands until its author replaces it by a valid one. An acceptance means the partner's offer of
    an earlier step. Two that accept each other's offers in one step have agreed on nothing.
    """
    standing: dict[int, Offer] = {}
    for step in moves(log):
        accepted = [
            1 - seat for seat, move in step.items() if isinstance(move, Accept) and 1 - seat in standing
        ]
        if len(accepted) == 1:
            return accepted[0], standing[accepted[0]]
        offers = {seat: move for seat, move in step.items() if isinstance(move, PriceOffer | SplitOffer)}
        standing |= {seat: offer for seat, offer in offers.items() if is_valid(offer)}
    return None
