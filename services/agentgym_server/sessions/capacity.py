"""Capacity limit on concurrent sessions, first come first served."""

import asyncio
from collections import deque
from collections.abc import Callable


class Slot:
    """Slot of an open session, held until it is released."""

    __slots__ = ("_free",)

    def __init__(self, free: Callable[[], None] | None) -> None:
        self._free = free

    def give(self) -> None:
        """Release the slot; once."""
        free, self._free = self._free, None
        if free is not None:
            free()

    @staticmethod
    def loan() -> "Slot":
        """A slot whose release frees nothing, for an episode in a slot that its owner keeps for the next
        one.
        """
        return Slot(None)


class Capacity:
    """Slots for open sessions. Waiting callers get free slots in order of arrival."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        """Free slots."""
        return max(0, self.limit - self.taken)

    async def take(self, wait_s: float) -> bool:
        """Take a slot, waiting at most `wait_s` for one; False on timeout."""
        if self.taken < self.limit and not self._waiting:
            self.taken += 1
            return True
        return wait_s > 0 and await self._queue(wait_s)

    def give(self) -> None:
        """Free a slot, or pass it to the next waiting caller."""
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
