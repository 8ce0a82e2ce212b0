"""Backends of the Gymnasium adapter: `Engine` opens episodes, `Episode` is one.

`RemoteEngine` plays them on a server, `agentgym_client.gymnasium.local` in this process. In both, mistakes of
the caller are `TaskNotFound`, `UnknownEnvironment`, `ValueError` and `NotImplementedError`; every other
failure is `EnvInfrastructureError`.
"""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from agentgym_client.client import EnvClient
from agentgym_client.errors import EnvInfrastructureError, ServerProblem, TransportError
from agentgym_client.session import Session
from agentgym_client.sync import LoopThread
from agentgym_envs.core import Observation, StepResult, TaskNotFound
from agentgym_envs.registry import UnknownEnvironment

if TYPE_CHECKING:
    import httpx

ResultT = TypeVar("ResultT")

MISTAKES: dict[str, type[Exception]] = {
    "task-not-found": TaskNotFound,
    "env-not-found": UnknownEnvironment,
    "validation": ValueError,
    "unsupported-operation": NotImplementedError,
}
"""Problems of a server that are its caller's mistakes, with the exception of each."""


class Episode(ABC):
    """One episode. Its attributes are its current state."""

    id: str
    task_id: str
    turn: int
    """Completed turns."""
    total_reward: float
    terminated: bool
    truncated: bool
    observation: Observation
    """The latest observation."""

    @abstractmethod
    async def step(self, action: str) -> StepResult:
        """Play an action. A failed step may be repeated: the action is executed once."""

    @abstractmethod
    async def fork(self) -> "Episode":
        """A new, independent episode in the state of this one."""

    @abstractmethod
    async def close(self) -> None:
        """Free its resources."""


class Engine(ABC):
    """Backend that opens episodes of one environment for all its users, in one thread of its own."""

    def __init__(self) -> None:
        self._thread = LoopThread()
        self._users = 1

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """The result of a coroutine."""
        return self._thread.run(work)

    def share(self) -> "Engine":
        """This engine, with one more user."""
        self._users += 1
        return self

    def release(self) -> None:
        """Remove one user; the last one stops the engine."""
        self._users -= 1
        if self._users == 0:
            self.run(self.close())
            self._thread.stop()

    @abstractmethod
    async def total(self, split: str) -> int:
        """Number of tasks of a split, without making any of them."""

    @abstractmethod
    async def task_id(self, split: str, index: int) -> str:
        """The id of one task."""

    @abstractmethod
    async def open(self, task_id: str, seed: int, max_turns: int | None) -> Episode:
        """Begin an episode; `max_turns` None: the environment's default."""

    @abstractmethod
    async def close(self) -> None:
        """Free the resources that episodes share."""


class RemoteEngine(Engine):
    """Engine on a server."""

    def __init__(
        self,
        env_name: str,
        base_url: str,
        token: str | None,
        transport: "httpx.AsyncBaseTransport | None",
    ) -> None:
        self._client = EnvClient(base_url, token=token, transport=transport)
        self._env = env_name
        self._totals: dict[str, int] = {}
        super().__init__()

    async def total(self, split: str) -> int:
        """See `Engine`; cached."""
        if split not in self._totals:
            with told():
                self._totals[split] = (await self._client.tasks(self._env, split, limit=1)).total
        return self._totals[split]

    async def task_id(self, split: str, index: int) -> str:
        """See `Engine`."""
        with told():
            page = await self._client.tasks(self._env, split, offset=index, limit=1)
        if not page.tasks:
            raise TaskNotFound(f"{self._env} has no task {index} in split {split!r} any more")
        return page.tasks[0].task_id

    async def open(self, task_id: str, seed: int, max_turns: int | None) -> Episode:
        """See `Engine`; waits while the server is full."""
        with told():
            return RemoteEpisode(await self._client.open(self._env, task_id, seed=seed, max_turns=max_turns))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class RemoteEpisode(Episode):
    """Session of a server."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.id, self.task_id = session.id, session.task_id
        self._follow()

    async def step(self, action: str) -> StepResult:
        """See `Episode`."""
        with told():
            result = await self._session.step(action)
        self._follow()
        return result

    async def fork(self) -> Episode:
        """See `Episode`."""
        with told():
            return RemoteEpisode(await self._session.fork())

    async def close(self) -> None:
        """See `Episode`."""
        with told():
            await self._session.close()

    def _follow(self) -> None:
        session = self._session
        self.turn, self.total_reward = session.turn, session.total_reward
        self.observation = session.observation
        self.terminated, self.truncated = session.terminated, session.truncated


@contextmanager
def told() -> Generator[None]:
    """Separate the caller's mistakes from failures of the connection or the server."""
    try:
        yield
    except ServerProblem as problem:
        mistake = MISTAKES.get(problem.kind)
        if mistake is not None:
            raise mistake(problem.detail) from problem
        raise EnvInfrastructureError(problem.failure, problem.retryable, problem.detail) from problem
    except TransportError as error:
        raise EnvInfrastructureError("transport", True, str(error)) from error
