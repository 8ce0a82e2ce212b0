"""Process pool of environment workers. A failure in one loses only its own episodes.

The head of a worker's queue is the running operation. A worker whose head misses its deadline is killed: the
head's episode fails with `step-timeout`, the worker's other episodes with `worker-lost`, and a new worker
takes its place. A coroutine that waits leaves the queue, and its worker cancels it at its deadline; a worker
that does not respond meanwhile is killed.
"""

import asyncio
import contextlib
import logging
import socket
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentgym_envs.core import TaskNotFound, TaskUnplayable
from agentgym_server.monitoring.histograms import Histogram
from agentgym_server.monitoring.logs import about
from agentgym_server.workers.fork_server import Child, ForkServer, WorkerStartFailed
from agentgym_server.workers.frames import FrameProtocol, packed
from agentgym_server.workers.hosts import (
    Factory,
    HostFault,
    Origin,
    Outcome,
    Outcomes,
    Overloaded,
    dependency_fault,
    internal_fault,
)

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
MEMORY_CHECK_S = 2.0

OnLost = Callable[[str, HostFault], None]


@dataclass(frozen=True)
class WorkerLimits:
    """Limits of one worker."""

    max_queue: int = 1024
    """Maximum length of the queue."""
    memory_bytes: int = 2 << 30
    """Maximum private memory."""


@dataclass(frozen=True)
class PoolTimes:
    """Histograms of a pool."""

    queue: Histogram
    """Time from call to start."""
    work: Histogram
    """Time from start to reply."""


@dataclass(eq=False)
class Operation:
    """One request to a worker; `reply` gets its outcome."""

    key: str
    deadline_s: float
    reply: asyncio.Future[Any]
    moment: float
    """Time at which it was queued; once running, the time at which it started."""
    check: asyncio.TimerHandle | None = None
    """Timer of the next check of its worker, while it waits."""


class Worker:
    """Handle of one worker process in the server."""

    def __init__(
        self, fork_server: ForkServer, limits: WorkerLimits, times: PoolTimes, on_lost: OnLost
    ) -> None:
        self._cradle = fork_server
        self._limits = limits
        self._times = times
        self._on_lost = on_lost
        self._queue: deque[Operation] = deque()
        self._waiting: dict[str, Operation] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._child: Child | None = None
        self.keys: set[str] = set()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(_seen)
        self.gone = asyncio.Event()
        self.reason = ""
        """Reason of its end: `died`, `step-timeout` or `memory`."""
        self._built = False

    @property
    def up(self) -> bool:
        """True if episodes may be opened here."""
        return self._built and not self.gone.is_set()

    @property
    def waiting(self) -> int:
        """Coroutines under way."""
        return len(self._waiting)

    @property
    def pid(self) -> int | None:
        """Process id."""
        return None if self._child is None else self._child.pid

    async def start(self) -> None:
        """Start the process and wait until it responds; raises `WorkerStartFailed`."""
        ours, theirs = socket.socketpair()
        try:
            self._child = await self._cradle.bear(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()  # so that the exit of the process closes the connection
        loop = asyncio.get_running_loop()
        protocol = FrameProtocol(
            self._on_message, lambda: self.lose("worker-lost", "the worker process died", "died")
        )
        self._transport, _ = await loop.create_connection(lambda: protocol, sock=ours)
        await self.ready

    async def check_memory(self) -> int:
        """Private memory of the process in bytes; a process beyond its limit is killed."""
        if self._child is None or not self.up:
            return 0
        held = await asyncio.to_thread(self._child.private_bytes)
        if held > self._limits.memory_bytes:
            self.lose("worker-lost", f"the worker process had {held >> 20} MiB of memory", "memory")
        return held

    def call(self, request: dict[str, Any], deadline_s: float) -> asyncio.Future[Any]:
        """Queue an operation; raises `Overloaded` (the queue is full) or `HostFault` (the worker is gone)."""
        if self._transport is None or self.gone.is_set():
            raise HostFault("worker-lost", "the worker process died")
        if len(self._queue) + len(self._waiting) >= self._limits.max_queue:
            raise Overloaded(f"{len(self._queue) + len(self._waiting)} operations wait for one worker")
        frame = packed(request | {"deadline_s": deadline_s})
        loop = asyncio.get_running_loop()
        operation = Operation(request["key"], deadline_s, loop.create_future(), loop.time())
        operation.reply.add_done_callback(_seen)
        self._queue.append(operation)
        if len(self._queue) == 1:
            self._watch()
        self._transport.write(frame)
        return operation.reply

    def drop(self, key: str) -> None:
        """Free an episode."""
        if key in self.keys:
            self.keys.discard(key)
            self._done_waiting(key)
            if self._transport is not None and not self.gone.is_set():
                self._transport.write(packed({"op": "drop", "key": key}))

    def lose(self, kind: str, message: str, reason: str) -> None:
        """Kill the process; fail the head with `kind` and all others with `worker-lost`."""
        if self.gone.is_set():
            return
        self.reason = reason
        self.gone.set()
        self._unwatch()
        if self._child is not None:
            self._child.kill()
        if self._transport is not None:
            self._transport.abort()
        if not self.ready.done():
            self.ready.set_exception(WorkerStartFailed(message))
        self._spread(HostFault(kind, message))

    def _spread(self, fault: HostFault) -> None:
        """Fail every episode of this worker; only the head of the queue can have missed a deadline."""
        head = self._queue[0].key if self._queue else None
        other = fault
        if fault.kind != "worker-lost":
            other = HostFault("worker-lost", "the worker process was killed with another episode's step")
        for operation in (*self._queue, *self._waiting.values()):
            if not operation.reply.done():
                operation.reply.set_exception(fault if operation.key == head else other)
        self._queue.clear()
        for key in list(self._waiting):
            self._done_waiting(key)
        keys, self.keys = self.keys, set[str]()
        for key in keys:
            self._on_lost(key, fault if key == head else other)

    async def stop(self) -> None:
        """Stop the process."""
        self.lose("worker-lost", "the server stopped", "stopped")
        await self.reap()

    async def reap(self) -> None:
        """Reap the process."""
        if self._child is not None:
            await asyncio.to_thread(self._child.reap)

    def _on_message(self, message: dict[str, Any]) -> None:
        if self.gone.is_set() or self.ready.cancelled():  # it was read before the connection was closed
            return
        if not self.ready.done():
            self._on_ready(message)
            return
        if "key" in message:
            self._on_late(message)
            return
        self._unwatch()
        operation = self._queue.popleft()
        if "later" in message:
            self._wait(operation)
        else:
            self._settle(operation, message)
        if self._queue:
            self._watch()

    def _on_late(self, message: dict[str, Any]) -> None:
        operation = self._done_waiting(message["key"])
        if operation is not None:
            self._settle(operation, message)

    def _settle(self, operation: Operation, message: dict[str, Any]) -> None:
        self._times.work.observe(asyncio.get_running_loop().time() - operation.moment)
        if not operation.reply.done():
            _settle(operation.reply, message)

    def _wait(self, operation: Operation) -> None:
        if operation.key not in self.keys:
            return  # dropped meanwhile
        self._waiting[operation.key] = operation
        loop = asyncio.get_running_loop()
        operation.check = loop.call_later(operation.deadline_s, self._ping, operation)

    def _ping(self, operation: Operation) -> None:
        """Check that the worker still runs its coroutines: one that is stuck does not answer."""
        self._wait(operation)
        with contextlib.suppress(Overloaded, HostFault):  # a queue has a watched head of its own
            self.call({"op": "ping", "key": ""}, operation.deadline_s)

    def _done_waiting(self, key: str) -> Operation | None:
        operation = self._waiting.pop(key, None)
        if operation is not None and operation.check is not None:
            operation.check.cancel()
        return operation

    def _on_ready(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._built = True
            self.ready.set_result(None)
        else:
            self.ready.set_exception(WorkerStartFailed("the worker process sent an invalid message"))

    def _watch(self) -> None:
        head = self._queue[0]
        text = f"no answer within {head.deadline_s:g} s"
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._times.queue.observe(now - head.moment)
        head.moment = now
        self._timer = loop.call_at(now + head.deadline_s, self.lose, "step-timeout", text, "step-timeout")

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _outcome(value: Any) -> Any:
    if isinstance(value, dict):
        seats = cast("dict[str, list[Any]]", value)
        return {seat: Outcome(*members) for seat, members in seats.items()}
    return None if value is None else Outcome(*value)


def _settle(reply: asyncio.Future[Any], message: dict[str, Any]) -> None:
    if "fault" not in message:
        reply.set_result(_outcome(message["outcome"]))
    elif message["fault"] == "task":
        reply.set_exception(TaskNotFound(message["message"]))
    elif message["fault"] == "unplayable":
        reply.set_exception(TaskUnplayable(message["message"]))
    elif message["fault"] == "step-timeout":
        reply.set_exception(HostFault("step-timeout", message["message"]))
    elif message["fault"] in ("partner", "judge", "verifier"):
        reply.set_exception(dependency_fault(message["fault"], message["trace"]))
    else:
        reply.set_exception(internal_fault("an environment raised in its worker", message["trace"]))


def _seen(future: asyncio.Future[Any]) -> None:
    """Mark an exception as seen: a reply may have no caller left."""
    if not future.cancelled():
        future.exception()


class WorkerPool:
    """`Host` of one environment over `count` processes.

    `on_lost` is called with every episode that is lost with its worker.
    """

    def __init__(
        self,
        name: str,
        factory: Factory,
        count: int,
        limits: WorkerLimits,
        times: PoolTimes,
        on_lost: OnLost,
    ) -> None:
        self._cradle = ForkServer({name: factory}, limits.memory_bytes, count)
        self._limits = limits
        self._times = times
        self._on_lost = on_lost
        self._keepers: list[asyncio.Task[None]] = []
        self._workers: dict[int, Worker] = {}
        self._homes: dict[str, Worker] = {}
        self._starting: asyncio.Lock = asyncio.Lock()
        self.count = count
        self.restarts: Counter[str] = Counter()
        """Replaced workers, by reason."""
        self.memory: dict[int, int] = {}
        """Private memory of the worker in each place at the last check, bytes."""

    @property
    def alive(self) -> int:
        """Workers that accept episodes now."""
        return sum(worker.up for worker in self._workers.values())

    @property
    def waiting(self) -> int:
        """Coroutines under way, those that queue included."""
        return sum(worker.waiting for worker in self._workers.values())

    @property
    def pids(self) -> list[int]:
        """Ids of the processes that are up."""
        return [worker.pid for worker in self._workers.values() if worker.up and worker.pid is not None]

    async def start(self) -> None:
        """Start all workers; raises `WorkerStartFailed`."""
        async with self._starting:
            if self._keepers:
                return
            workers = [self._new() for _ in range(self.count)]
            try:
                await asyncio.gather(*(worker.start() for worker in workers))
            except BaseException:
                await asyncio.gather(*(worker.stop() for worker in workers))
                await self._cradle.close()
                raise
            self._workers = dict(enumerate(workers))
            self._keepers = [asyncio.create_task(self._keep(place)) for place in self._workers]
            self._keepers.append(asyncio.create_task(self._watch_memory()))

    async def open(self, key: str, origin: Origin, deadline_s: float) -> Outcome:
        """See `Host.open`. It survives the loss of a worker: no episode has started."""
        return await self._open({"op": "open", "key": key, "origin": origin}, deadline_s)

    async def open_seats(self, key: str, origin: Origin, deadline_s: float) -> Outcomes:
        """See `Host.open_seats`; all seats are in one worker."""
        return await self._open({"op": "open_seats", "key": key, "origin": origin}, deadline_s)

    async def _open(self, request: dict[str, Any], deadline_s: float) -> Any:
        try:
            reached = await self._begin(self._least_loaded(), request, deadline_s)
        except HostFault as fault:
            if fault.kind != "worker-lost":
                raise
            reached = await self._begin(self._least_loaded(), request, deadline_s)  # once: it may be the task
        if reached is None:
            raise internal_fault("a reset without an observation", "")
        return reached

    async def fork(
        self, key: str, parent: str, origin: Origin, actions: Sequence[str] | None, deadline_s: float
    ) -> Outcome | None:
        """See `Host.fork`; a snapshot is restored in the worker that took it."""
        worker = self._home(parent) if actions is None else self._least_loaded()
        request = {"op": "fork", "key": key, "parent": parent, "origin": origin, "actions": actions}
        return await self._begin(worker, request, deadline_s)

    def step(self, key: str, action: str, deadline_s: float) -> Awaitable[Outcome]:
        """See `Host.step`."""
        reply = self._home(key).call({"op": "step", "key": key, "action": action}, deadline_s)
        return cast("Awaitable[Outcome]", reply)  # a step always has an outcome

    def step_seats(self, key: str, actions: Mapping[str, str], deadline_s: float) -> Awaitable[Outcomes]:
        """See `Host.step_seats`."""
        return self._home(key).call({"op": "step_seats", "key": key, "actions": dict(actions)}, deadline_s)

    def drop(self, key: str) -> None:
        """See `Host.drop`."""
        worker = self._homes.pop(key, None)
        if worker is not None:
            worker.drop(key)

    async def close(self) -> None:
        """Stop all workers."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self._workers.values()))
        await self._cradle.close()
        self._keepers.clear()
        self._workers.clear()

    def _new(self) -> Worker:
        return Worker(self._cradle, self._limits, self._times, self._lost)

    async def _begin(self, worker: Worker, request: dict[str, Any], deadline_s: float) -> Any:
        key = request["key"]
        reply = worker.call(request, deadline_s)
        worker.keys.add(key)
        self._homes[key] = worker
        try:
            return await reply
        except BaseException:
            self.drop(key)
            raise

    def _home(self, key: str) -> Worker:
        worker = self._homes.get(key)
        if worker is None:
            raise HostFault("worker-lost", "the worker process died")
        return worker

    def _least_loaded(self) -> Worker:
        workers = [worker for worker in self._workers.values() if worker.up]
        if not workers:
            raise Overloaded("no worker is running")
        return min(workers, key=lambda worker: len(worker.keys))

    def _lost(self, key: str, fault: HostFault) -> None:
        self._homes.pop(key, None)
        self._on_lost(key, fault)

    async def _keep(self, place: int) -> None:
        """Replace the worker of a place whenever it is lost."""
        pause = FIRST_PAUSE_S
        while True:
            worker = self._workers[place]
            await worker.gone.wait()
            log.warning("a worker died; starting another", extra=about(pid=worker.pid, reason=worker.reason))
            await worker.reap()
            self._workers[place] = successor = self._new()
            self.restarts[worker.reason] += 1
            try:
                await successor.start()
                pause = FIRST_PAUSE_S
            except (WorkerStartFailed, OSError) as cause:
                log.error("a worker did not start: %s", cause)
                successor.lose("worker-lost", str(cause), "start-failed")
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _watch_memory(self) -> None:
        while True:
            for place, worker in self._workers.items():
                self.memory[place] = await worker.check_memory()
            await asyncio.sleep(MEMORY_CHECK_S)
