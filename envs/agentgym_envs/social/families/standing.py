"""Standing offers: what `price`, `split` and `schedule` have in common."""

from typing import Any

from agentgym_envs.sotopia.moves import Utterance


class Offers:
    """Offers of both seats. An offer stands until its author replaces it; `ACCEPT` takes the other seat's."""

    def __init__(self, move: str) -> None:
        self.move = move
        """Name of the move that makes an offer."""
        self.made: tuple[list[Any], list[Any]] = ([], [])
        """All offers by seat, the latest last."""
        self.agreed: Any = None
        """The accepted offer."""
        self.author: int = -1
        """Seat whose offer was accepted."""

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it accepts a standing offer."""
        if said.move is None:
            return False
        if said.move.name == self.move:
            self.made[seat].append(said.move.value)
        elif said.move.name == "ACCEPT" and self.made[1 - seat]:
            self.agreed, self.author = self.made[1 - seat][-1], 1 - seat
        return self.author >= 0

    def standing(self, seat: int) -> Any:
        """The latest offer of a seat; None before any."""
        return self.made[seat][-1] if self.made[seat] else None


class Patience:
    """Counter of a partner's turns in which the other side has made no new offer, in a row or not."""

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self.is_tried = False
        """Whether the latest turn was one of them."""

    def lost(self, *, new: bool) -> bool:
        """Whether patience is lost, after a turn in which there was a new offer or not."""
        self.is_tried = not new
        self.count += not new
        return self.count >= self.limit
