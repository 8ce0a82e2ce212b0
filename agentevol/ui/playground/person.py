"""The policy that a person is: each of its actions is awaited from a page."""

import asyncio

from agentevol.core.protocols import Conversation, GivenUp
from agentevol.engines.scripted import said
from agentgym_envs.core import Observation
from agentgym_store.records import Sample


class Person:
    """Policy of one episode. Everything runs in one event loop.

    After `patience_s` seconds without an action, the person has gone away: the episode is cancelled.
    """

    version = 0

    def __init__(self, name: str, patience_s: float) -> None:
        self.name, self._patience_s = name, patience_s
        self.seen: list[Observation] = []
        """Observations so far, the first one included."""
        self.actions: list[str] = []
        """Actions so far; those that the environment has not answered yet included."""
        self._awaited: asyncio.Future[str] | None = None
        self._has_stopped = False
        self._news = asyncio.Event()

    @property
    def is_asked(self) -> bool:
        """True while an action is awaited."""
        return self._awaited is not None and not self._awaited.done()

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """The person's action. Raises `GivenUp`."""
        del seed
        if conversation.observation is not None:
            self.seen.append(conversation.observation)
        if self._has_stopped:
            raise GivenUp
        self._awaited = asyncio.get_running_loop().create_future()
        self.tell()
        try:
            async with asyncio.timeout(self._patience_s):
                return said(await self._awaited)
        except TimeoutError:
            raise GivenUp from None
        finally:
            self._awaited = None

    def admissible(self, choice: int) -> str | None:
        """The admissible action of this number, from 1; None where there is none."""
        actions = (self.seen[-1].actions if self.seen else None) or ()
        return actions[choice - 1] if 1 <= choice <= len(actions) else None

    def answer(self, turn: int, action: str) -> bool:
        """Act in turn `turn`, from 1; False, and nothing happens, unless this turn's action is awaited."""
        if self._awaited is None or self._awaited.done() or turn != len(self.actions) + 1:
            return False
        self.actions.append(action)
        self._awaited.set_result(action)
        return True

    def give_up(self) -> None:
        """End the episode when it is the person's turn, or as soon as it is."""
        self._has_stopped = True
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(GivenUp())

    def release(self, conversation_id: str) -> None:
        """Do nothing: what was seen is shown until the page is gone."""

    def tell(self) -> None:
        """Wake those who wait for `news`."""
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, seconds: float) -> None:
        """Wait until an action is awaited again or the episode is over, at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
