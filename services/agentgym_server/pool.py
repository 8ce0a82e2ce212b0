"""A fixed pool of worker processes. What goes wrong in one is the loss of its episodes only.

The head of a worker's queue is what it works at. A head past its deadline gets the worker killed: the head's
episode fails with `step-timeout`, the worker's other episodes with `worker-lost`, and a new worker takes its
place.
"""

import asyncio
import atexit
import logging
import multiprocessing
import os
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, cast

from agentgym_envs.core import TaskNotFound
from agentgym_server.frames import FrameProtocol, packed
from agentgym_server.rooms import Factory, HostFault, Origin, Outcome, Overloaded, internal_fault
from agentgym_server.worker import work

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
CLOSE_S = 2.0

OnLost = Callable[[str, HostFault], None]


class WorkerStartFailed(RuntimeError):
    """A world could not be built in its worker; the text says why."""


@dataclass(eq=False)
class Operation:
    """One request to a worker; `reply` gets its outcome."""

    key: str
    deadline_s: float
    reply: asyncio.Future[Outcome | None]


class Worker:
    """The server's side of one process."""

    def __init__(self, factories: Mapping[str, Factory], max_queue: int, on_lost: OnLost) -> None:
        self._factories = factories
        self._max_queue = max_queue
        self._on_lost = on_lost
        self._queue: deque[Operation] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._process: BaseProcess | None = None
        self.keys: set[str] = set()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(_seen)
        self.gone = asyncio.Event()
        self._built = False

    @property
    def up(self) -> bool:
        """Whether episodes may be opened here."""
        return self._built and not self.gone.is_set()

    @property
    def pid(self) -> int | None:
        """The process's id."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process and wait until its worlds are built; raises `WorkerStartFailed`."""
        ours, theirs = socket.socketpair()
        context = multiprocessing.get_context("spawn")
        arguments = (theirs, dict(self._factories), os.getpid())
        process = context.Process(target=work, args=arguments, name="agentgym-worker", daemon=True)
        try:
            await asyncio.to_thread(process.start)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()  # so that the process's end closes the connection
        self._process = process
        atexit.register(process.kill)  # before multiprocessing would wait for it: it ignores SIGTERM
        loop = asyncio.get_running_loop()
        protocol = FrameProtocol(
            self._on_message, lambda: self.lose("worker-lost", "the worker process died")
        )
        self._transport, _ = await loop.create_connection(lambda: protocol, sock=ours)
        await self.ready

    def call(self, request: dict[str, Any], deadline_s: float) -> asyncio.Future[Outcome | None]:
        """Queue an operation; raises `Overloaded` (the queue is full) or `HostFault` (the worker is gone)."""
        if self._transport is None or self.gone.is_set():
            raise HostFault("worker-lost", "the worker process died")
        if len(self._queue) >= self._max_queue:
            raise Overloaded(f"{len(self._queue)} operations wait for one worker")
        frame = packed(request)
        operation = Operation(request["key"], deadline_s, asyncio.get_running_loop().create_future())
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
            if self._transport is not None and not self.gone.is_set():
                self._transport.write(packed({"op": "drop", "key": key}))

    def lose(self, kind: str, message: str) -> None:
        """Kill the process; fail the head with `kind` and everything else with `worker-lost`."""
        if self.gone.is_set():
            return
        self.gone.set()
        self._unwatch()
        if self._process is not None:
            self._process.kill()
            atexit.unregister(self._process.kill)
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
        for operation in self._queue:
            if not operation.reply.done():
                operation.reply.set_exception(fault if operation.key == head else other)
        self._queue.clear()
        keys, self.keys = self.keys, set[str]()
        for key in keys:
            self._on_lost(key, fault if key == head else other)

    async def stop(self) -> None:
        """End the process, by force if it does not end by itself."""
        if self._transport is not None:
            self._transport.abort()
        if self._process is not None:
            await asyncio.to_thread(self._process.join, 0 if self.gone.is_set() else CLOSE_S)
        self.lose("worker-lost", "the server stopped")
        await self.reap()

    async def reap(self) -> None:
        """Free the process's entry in the system's table."""
        if self._process is not None:
            await asyncio.to_thread(self._process.join, CLOSE_S)

    def _on_message(self, message: dict[str, Any]) -> None:
        if not self.ready.done():
            self._on_ready(message)
            return
        self._unwatch()
        operation = self._queue.popleft()
        if self._queue:
            self._watch()
        if not operation.reply.done():
            _settle(operation.reply, message)

    def _on_ready(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._built = True
            self.ready.set_result(None)
        else:
            log.error("a world could not be built\n%s", message["trace"])
            self.ready.set_exception(WorkerStartFailed(message["message"]))

    def _watch(self) -> None:
        head = self._queue[0]
        text = f"no answer within {head.deadline_s:g} s"
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(head.deadline_s, self.lose, "step-timeout", text)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _settle(reply: asyncio.Future[Outcome | None], message: dict[str, Any]) -> None:
    if "fault" not in message:
        reply.set_result(None if message["outcome"] is None else Outcome(*message["outcome"]))
    elif message["fault"] == "task":
        reply.set_exception(TaskNotFound(message["message"]))
    else:
        reply.set_exception(internal_fault("an environment raised in its worker", message["trace"]))


def _seen(future: asyncio.Future[Any]) -> None:
    """Mark an exception as seen: a reply may have nobody left who waits for it."""
    if not future.cancelled():
        future.exception()


class WorkerPool:
    """A `Host` over `count` processes; `on_lost` hears of every episode that goes down with one."""

    def __init__(self, factories: Mapping[str, Factory], count: int, max_queue: int, on_lost: OnLost) -> None:
        self._factories = factories
        self._count = count
        self._max_queue = max_queue
        self._on_lost = on_lost
        self._keepers: list[asyncio.Task[None]] = []
        self._workers: dict[int, Worker] = {}
        self._homes: dict[str, Worker] = {}
        self._starting: asyncio.Lock = asyncio.Lock()
        self.count = count
        self.restarts = 0

    @property
    def alive(self) -> int:
        """Workers that take episodes now."""
        return sum(worker.up for worker in self._workers.values())

    @property
    def pids(self) -> list[int]:
        """Ids of the processes that are up."""
        return [worker.pid for worker in self._workers.values() if worker.up and worker.pid is not None]

    async def start(self) -> None:
        """Start all workers; raises `WorkerStartFailed`."""
        async with self._starting:
            if self._keepers:
                return
            workers = [self._new() for _ in range(self._count)]
            try:
                await asyncio.gather(*(worker.start() for worker in workers))
            except BaseException:
                await asyncio.gather(*(worker.stop() for worker in workers))
                raise
            self._workers = dict(enumerate(workers))
            self._keepers = [asyncio.create_task(self._keep(place)) for place in self._workers]

    async def open(self, key: str, origin: Origin, deadline_s: float) -> Outcome:
        """See `Host.open`."""
        worker = self._least_loaded()
        reached = await self._begin(worker, {"op": "open", "key": key, "origin": origin}, deadline_s)
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
        self._keepers.clear()
        self._workers.clear()

    def _new(self) -> Worker:
        return Worker(self._factories, self._max_queue, self._lost)

    async def _begin(self, worker: Worker, request: dict[str, Any], deadline_s: float) -> Outcome | None:
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
            raise Overloaded("no worker is up")
        return min(workers, key=lambda worker: len(worker.keys))

    def _lost(self, key: str, fault: HostFault) -> None:
        self._homes.pop(key, None)
        self._on_lost(key, fault)

    async def _keep(self, place: int) -> None:
        """Replace the worker of a place whenever it is gone."""
        pause = FIRST_PAUSE_S
        while True:
            worker = self._workers[place]
            await worker.gone.wait()
            log.warning("worker %s is gone; starting another", worker.pid)
            await worker.reap()
            self._workers[place] = successor = self._new()
            self.restarts += 1
            try:
                await successor.start()
                pause = FIRST_PAUSE_S
            except (WorkerStartFailed, OSError) as cause:
                log.error("a worker did not start: %s", cause)
                successor.lose("worker-lost", str(cause))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
