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
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def free(self) -> int:
        """Free slots."""
        return max(0, self.limit - self.taken)

    async def take(self, wait_s: float, count: int = 1) -> bool:
        """Take `count` slots at once, waiting at most `wait_s` for them; False on timeout."""
        if self.taken + count <= self.limit and not self._waiting:
            self.taken += count
            return True
        return wait_s > 0 and count <= self.limit and await self._queue(wait_s, count)

    def give(self) -> None:
        """Free a slot, for the next waiting caller if it has enough of them."""
        self.taken -= 1
        self._grant()

    def _grant(self) -> None:
        while self._waiting:
            first, count = self._waiting[0]
            if not first.done():
                if self.taken + count > self.limit:
                    return
                self.taken += count
                first.set_result(None)
            self._waiting.popleft()

    async def _queue(self, wait_s: float, count: int) -> bool:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, count))
        try:
            await asyncio.wait([turn], timeout=wait_s)
        except asyncio.CancelledError:
            if turn.done():
                self.taken -= count
            turn.cancel()
            self._grant()
            raise
        if turn.done():
            return True
        turn.cancel()
        self._grant()  # to those behind, who may need fewer
        return False
