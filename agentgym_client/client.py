"""Clients of one environment server, asynchronous and synchronous."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from agentgym_client.operations import Operation
from agentgym_client.records import EnvironmentInfo, TaskInfo, TaskPage
from agentgym_client.rest import RestLane
from agentgym_client.retries import Caller, RetryRules
from agentgym_client.session import Session, fresh_key, waiting_s
from agentgym_client.sync import LoopThread, SyncSession
from agentgym_client.transport import exchange_for
from agentgym_client.websocket import WebSocketLane

if TYPE_CHECKING:
    import httpx


class EnvClient:
    """Client that opens episodes on one server; an instance runs any number of them at once, within one event
    loop.

    `lane`: `auto` plays sessions over one WebSocket, concurrent steps in one frame, and falls back to REST if
    the server or a proxy has no WebSocket; `rest` is REST alone. `transport` replaces the network: tests pass
    `httpx.ASGITransport(app)`, so that the whole protocol runs, over REST, without a socket. `timeout_s`
    bounds one request, not the episode. A request without a response is retried `retries` times; the client
    waits up to `patience_s` seconds for a server that is full or busy. At most `connections` REST requests
    run at once.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_s: float = 60.0,
        transport: "httpx.AsyncBaseTransport | None" = None,
        retries: int = 8,
        patience_s: float = 600.0,
        connections: int = 256,
        lane: Literal["auto", "rest"] = "auto",
    ) -> None:
        rules = RetryRules(retries=retries, patience_s=patience_s)
        rest = RestLane(exchange_for(base_url, transport, connections), token)
        fast = WebSocketLane(base_url, token) if lane == "auto" and transport is None else None
        self._caller = Caller(rest, fast, timeout_s, rules)
        self._timeout_s = timeout_s
        self.base_url = base_url

    @classmethod
    def sync(cls, base_url: str, **options: Any) -> "SyncEnvClient":
        """The same client without `await`; takes the same options."""

        return SyncEnvClient(base_url, **options)

    async def health(self) -> dict[str, Any]:
        """Liveness and capacity; waits for a draining server as for a full one."""
        return await self._caller.perform(Operation("health", {}))

    async def environments(self) -> list[EnvironmentInfo]:
        """The environments of the server."""
        reply = await self._caller.perform(Operation("envs", {}))
        return [EnvironmentInfo.model_validate(entry) for entry in reply["envs"]]

    async def tasks(
        self,
        env: str,
        split: str | None = None,
        *,
        difficulty: str | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> TaskPage:
        """Tasks `offset`, `offset` + 1, ... of a split (None: of all, one after another); at most 1,000."""
        query: dict[str, str | int] = {"env": env, "offset": offset, "limit": limit}
        query |= {
            name: value for name, value in (("split", split), ("difficulty", difficulty)) if value is not None
        }
        reply = await self._caller.perform(Operation("tasks", query))
        rows = tuple(TaskInfo.model_validate({"env": env, **row}) for row in reply["tasks"])
        return TaskPage(tasks=rows, total=reply["total"], offset=reply["offset"])

    async def task(self, env: str, task_id: str) -> TaskInfo:
        """The task with this id; raises `ServerProblem` of the kind `task-not-found` if there is none."""
        reply = await self._caller.perform(Operation("tasks", {"env": env, "task_id": task_id}))
        return TaskInfo.model_validate({"env": env, **reply["tasks"][0]})

    async def open(
        self,
        env: str,
        task_id: str,
        *,
        seed: int | None = None,
        max_turns: int | None = None,
        labels: dict[str, str] | None = None,
        lease_ttl_s: float | None = None,
        action_format: str | None = None,
    ) -> Session:
        """Start an episode; None leaves the choice to the server.

        Waits while the server is full; raises `ServerProblem` (`task-not-found`, ...) or `TransportError`.
        """
        choices = {"seed": seed, "max_turns": max_turns, "labels": labels, "lease_ttl_s": lease_ttl_s}
        reply = await self._create(env, task_id, choices | {"format": action_format})
        return Session(self._caller, reply, self._timeout_s)

    async def open_seats(
        self,
        env: str,
        task_id: str,
        *,
        seats: int = 2,
        seed: int | None = None,
        max_turns: int | None = None,
        labels: dict[str, str] | None = None,
        lease_ttl_s: float | None = None,
        action_format: str | None = None,
    ) -> tuple[Session, ...]:
        """Start an episode that several agents play; a session for each seat, in the environment's order.

        Before its first step, a seat waits for its turn (`Session.await_turn`). A step returns when it is the
        seat's turn again, so that the seats must be played concurrently. Raises as `open`.
        """
        choices = {"seed": seed, "max_turns": max_turns, "labels": labels, "lease_ttl_s": lease_ttl_s}
        first = await self._create(env, task_id, choices | {"format": action_format, "seats": seats})
        return tuple(Session(self._caller, reply, self._timeout_s) for reply in (first, *first["partners"]))

    async def _create(self, env: str, task_id: str, choices: dict[str, Any]) -> dict[str, Any]:
        members: dict[str, Any] = {"env": env, "task_id": task_id}
        members |= {name: value for name, value in choices.items() if value is not None}
        return await self._caller.perform(
            Operation("create", members, fresh_key(), waiting_s(self._timeout_s))
        )

    async def close(self) -> None:
        """Close the connections; sessions continue."""
        await self._caller.close()

    async def __aenter__(self) -> "EnvClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class SyncEnvClient:
    """Synchronous form of `EnvClient` with the same options; may be used from many threads."""

    def __init__(self, base_url: str, **options: Any) -> None:
        self._client = EnvClient(base_url, **options)
        self._thread = LoopThread()

    def health(self) -> dict[str, Any]:
        """See `EnvClient.health`."""
        return self._thread.run(self._client.health())

    def environments(self) -> list[EnvironmentInfo]:
        """See `EnvClient.environments`."""
        return self._thread.run(self._client.environments())

    def tasks(self, env: str, split: str | None = None, **page: Any) -> TaskPage:
        """See `EnvClient.tasks`."""
        return self._thread.run(self._client.tasks(env, split, **page))

    def task(self, env: str, task_id: str) -> TaskInfo:
        """See `EnvClient.task`."""
        return self._thread.run(self._client.task(env, task_id))

    def open(self, env: str, task_id: str, **choices: Any) -> SyncSession:
        """See `EnvClient.open`."""
        return SyncSession(self._thread.run(self._client.open(env, task_id, **choices)), self._thread)

    def open_seats(self, env: str, task_id: str, **choices: Any) -> tuple[SyncSession, ...]:
        """See `EnvClient.open_seats`; each seat is played in a thread of its own."""
        sessions = self._thread.run(self._client.open_seats(env, task_id, **choices))
        return tuple(SyncSession(session, self._thread) for session in sessions)

    def close(self) -> None:
        """Close the connections and stop the thread; may be called twice."""
        try:
            self._thread.run(self._client.close())
        except RuntimeError:
            return  # already closed
        self._thread.stop()

    def __enter__(self) -> "SyncEnvClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
