"""Synchronous sessions: an event loop in a background thread."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from agentgym_client.session import Action, Session
from agentgym_envs.core import Observation, StepResult

ResultT = TypeVar("ResultT")


class LoopThread:
    """Event loop in a background thread; may be used from many threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agentgym-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """The result of a coroutine."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Stop the loop; may be called twice."""
        if not self._loop.is_closed():
            self.run(self._cancel_rest())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @staticmethod
    async def _cancel_rest() -> None:
        """Cancel the remaining tasks of an in-process application."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


class SyncSession:
    """Synchronous form of `Session`."""

    def __init__(self, session: Session, thread: LoopThread) -> None:
        self._session = session
        self._thread = thread
        self.id = session.id
        self.env = session.env
        self.task_id = session.task_id
        self.seed = session.seed
        self.env_version = session.env_version
        self.data_version = session.data_version
        self.max_turns = session.max_turns
        self.episode_id, self.seat = session.episode_id, session.seat

    @property
    def observation(self) -> Observation:
        """The latest observation."""
        return self._session.observation

    @property
    def info(self) -> dict[str, Any]:
        """Info of the latest observation."""
        return self._session.info

    @property
    def turn(self) -> int:
        """Completed turns."""
        return self._session.turn

    @property
    def terminated(self) -> bool:
        """True if the environment reached its end."""
        return self._session.terminated

    @property
    def truncated(self) -> bool:
        """True if a limit cut the episode."""
        return self._session.truncated

    @property
    def done(self) -> bool:
        """True if the episode is over."""
        return self._session.done

    @property
    def total_reward(self) -> float:
        """Sum of the rewards so far."""
        return self._session.total_reward

    def step(self, action: Action) -> StepResult:
        """See `Session.step`."""
        return self._thread.run(self._session.step(action))

    def await_turn(self) -> Observation:
        """See `Session.await_turn`."""
        return self._thread.run(self._session.await_turn())

    def fork(self, at_turn: int | None = None) -> "SyncSession":
        """See `Session.fork`."""
        return SyncSession(self._thread.run(self._session.fork(at_turn)), self._thread)

    def renew(self, lease_ttl_s: float | None = None) -> None:
        """See `Session.renew`."""
        self._thread.run(self._session.renew(lease_ttl_s))

    def close(self) -> None:
        """See `Session.close`."""
        self._thread.run(self._session.close())

    def __enter__(self) -> "SyncSession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
