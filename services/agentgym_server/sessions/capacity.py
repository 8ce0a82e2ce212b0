"""Capacity: so many sessions at a time, first come first served."""

import asyncio
from collections import deque
from collections.abc import Callable


class Slot:
    """A place among the open sessions, taken until it is given back."""

    __slots__ = ("_free",)

    def __init__(self, free: Callable[[], None] | None) -> None:
        self._free = free

    def give(self) -> None:
        """Give the place back; once."""
        free, self._free = self._free, None
        if free is not None:
            free()

    @staticmethod
    def loan() -> "Slot":
        """For an episode in a place that its owner keeps for the next one: giving it back frees nothing."""
        return Slot(None)


class Capacity:
    """Slots for open sessions. Whoever waits gets the next free one, in order of arrival."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        """Slots that nobody has."""
        return max(0, self.limit - self.taken)

    async def take(self, wait_s: float) -> bool:
        """Take a slot, waiting at most so long for one; False where none came free."""
        if self.taken < self.limit and not self._waiting:
            self.taken += 1
            return True
        return wait_s > 0 and await self._queue(wait_s)

    def give(self) -> None:
        """Free a slot: the next who waits has it."""
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():
                first.set_result(None)
                return
        self.taken -= 1

    async def _queue(self, wait_s: float) -> bool:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait([turn], timeout=wait_s)
        except asyncio.CancelledError:
            if turn.done():
                self.give()
            else:
                turn.cancel()
            raise
        return turn.done() or not turn.cancel()
