"""Pool of a run's rollout workers: start, dispatch, weight updates and replacement."""

import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from threading import Event, Lock
from typing import Any

from agentevol.cluster.pools.dispatch import Dispatch, Played, Replica, lost, stalled
from agentevol.cluster.pools.weight_transfer import Send, why_not_sent
from agentevol.cluster.processes.failures import start_failure, stop_if_hopeless
from agentevol.cluster.processes.interface import POLL_S, Processes, ProcessLost
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Place
from agentevol.config.run import RunConfig
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.faults import FaultLog
from agentgym_store.records import Trajectory

USAGE_S = 5.0
"""Seconds that workers have to tell their use of the system."""


class Fleet:
    """Pool of `engine.workers` rollout processes. A process that dies costs the episodes that it was
    playing.
    """

    def __init__(self, config: RunConfig, processes: Processes, members: Members, faults: FaultLog) -> None:
        self._config, self._processes = config, processes
        self._members, self._faults = members, faults
        self._workers = [Replica(number) for number in range(config.engine.workers)]
        self._batches: list[Dispatch] = []
        """Batches in play, each for a waiting thread."""
        self._listing, self._turn = Lock(), Lock()
        """Locks of the batches and of the workers. The thread that holds the second does the work for all."""
        self._free = Event()
        """Set outside weight updates."""
        self._free.set()
        self._gpus = 0
        self._url = ""
        self._checkpoint: Checkpoint | None = None
        self._asleep = False

    def start(self, checkpoint: Checkpoint, url: str, gpus: int) -> None:
        """Start all workers, each with `gpus` GPUs, against the environment server at `url`."""
        self._checkpoint, self._url, self._gpus = checkpoint, url, gpus
        for worker in self._workers:
            self._start(worker)
            if worker.process is None:  # enough GPUs, but not on one node
                raise ConfigError(f"{_no_room(gpus)} for {worker.name}: set engine.workers lower")
        starting = [worker.starting for worker in self._workers if worker.starting is not None]
        try:
            found = self._processes.results(starting, self._config.ray.start_timeout_s)
        except ProcessLost as cause:
            raise start_failure(str(cause)) from cause
        for worker, seen in zip(self._workers, found, strict=True):
            worker.starting, worker.gpus = None, seen if gpus else ()

    def gpus(self) -> list[Place]:
        """GPUs that workers hold, by worker and then in its own order, for others to share. Starting workers
        are waited for, and put to sleep where the other workers sleep.
        """
        with self._turn:
            self._members.look(at_once=True)
            for worker in self._workers:  # no one else polls an idle one
                if worker.ready and self._members.node_of(worker.name) is None:
                    lost(worker, "rollout-worker-lost", "its node was lost")
                    self._replace(worker, "was lost with its node", "its node was lost", lost_workers=1)
        came = [worker for worker in self._workers if worker.starting is not None]
        while any(worker.starting is not None for worker in self._workers):
            self._work()
        if came and self._asleep:
            self.sleep()
        held = [(self._members.node_of(one.name), one.gpus) for one in self._workers if one.ready]
        return [Place(node, shared=gpu) for node, gpus in held if node is not None for gpu in gpus]

    def update(self, checkpoint: Checkpoint, send: Send | None = None) -> bool:
        """Update the weights of all workers; `rollout.in_flight` determines the fate of episodes under way.

        With `send` the learners transfer the weights. Where the transfer fails, all workers restart with the
        checkpoint; returns whether the weights arrived.
        """
        self._free.clear()
        try:
            with self._turn:
                self._asleep = False
                if send is not None:
                    return self._send(checkpoint, send)
                self._update(checkpoint)
                return True
        finally:
            self._free.set()

    def sleep(self) -> None:
        """Have all workers free their GPUs until there are new weights, or episodes to play."""
        with self._turn:
            self._asleep = True
            awake = [worker for worker in self._workers if worker.process is not None]
            asked = [(worker, worker.process.sleep.remote()) for worker in awake]
            for worker, reply in asked:
                if not self._sleeps(worker, reply) and worker.process is not None:
                    asked.append((worker, worker.process.sleep.remote()))

    def usage(self, timeout_s: float = USAGE_S) -> list[Any]:
        """Use of the system by the workers that answer within this time (`WorkerUsage`); never raises."""
        asked = [
            worker.process.usage.remote()
            for worker in self._workers
            if worker.ready and hasattr(worker.process, "usage")
        ]
        found: list[Any] = []
        until = time.monotonic() + timeout_s
        while asked and time.monotonic() < until:
            for reply in self._processes.wait(asked, POLL_S):
                asked.remove(reply)
                with suppress(ProcessLost, RunStopped):  # play will notice the loss
                    found += self._processes.results([reply])
        return found

    def _sleeps(self, worker: Replica, reply: Any) -> bool:
        """Return whether a worker that was told to sleep does so; one that died is replaced."""
        starting = [] if worker.starting is None else [worker.starting]
        try:
            found = self._processes.results([*starting, reply], self._config.ray.start_timeout_s)
        except ProcessLost as cause:
            lost(worker, "rollout-worker-lost", str(cause))
            self._replace(worker, "was lost", str(cause), lost_workers=1)
            return False
        if starting:
            self._started(worker, found[0])
        return True

    def _send(self, checkpoint: Checkpoint, send: Send) -> bool:
        self._checkpoint = checkpoint
        ready = [worker for worker in self._workers if worker.ready]
        for worker in self._workers:
            if not worker.ready:
                self._start(worker)
        if not ready:
            return True
        reason = why_not_sent(self._processes, ready, checkpoint, send, self._config.engine.stall_s)
        if reason is None:
            return True
        for worker in ready:
            lost(worker, "rollout-worker-lost", reason)
            self._replace(worker, f"did not receive the new weights ({reason})", reason, lost_workers=1)
        return False

    def _update(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, began = checkpoint, time.monotonic()
        updating: dict[Any, Replica] = {}
        for worker in self._workers:
            if worker.ready:
                updating[worker.process.update.remote(checkpoint)] = worker
            else:  # it would start with weights that may be gone soon
                self._start(worker)
        ready = len(updating)
        while updating:
            for reply in self._processes.wait(list(updating), POLL_S):
                worker = updating.pop(reply)
                try:
                    self._processes.results([reply])
                except ProcessLost as cause:
                    lost(worker, "rollout-worker-lost", str(cause))
                    self._replace(worker, "was lost", str(cause), lost_workers=1)
            if len(updating) < ready and time.monotonic() - began > self._config.engine.stall_s:
                for worker in updating.values():
                    lost(worker, "rollout-worker-stalled", "it did not load the new weights")
                    what = f"did not load the new weights within {time.monotonic() - began:.0f} s"
                    self._replace(worker, what, what, stalled=1)
                return

    def play(
        self,
        requests: Iterable[EpisodeRequest],
        sampling: Sampling,
        played: Played,
        given_up: Event | None = None,
        priority: int = 0,
    ) -> Generator[Trajectory]:
        """See `agentevol.cluster.cluster.Cluster.play`."""

        def ask(process: Any, request: EpisodeRequest) -> Any:
            return process.play.remote(request, sampling)

        if self._asleep and self._checkpoint is not None:
            self.update(self._checkpoint)
        retries = self._config.explore.retries
        batch = Dispatch(requests, ask, retries, played, self._faults, priority)
        with self._listing:
            self._batches.append(batch)
        try:
            while batch.unfinished and not (given_up is not None and given_up.is_set()):
                self._work()
                yield from batch.taken()
        finally:
            with self._listing:
                self._batches.remove(batch)

    def _work(self) -> None:
        """Dispatch and collect for all batches, where no other thread does, outside weight updates."""
        if not (self._free.wait(POLL_S) and self._turn.acquire(timeout=POLL_S)):
            return
        try:
            with self._listing:
                batches = sorted(self._batches, key=lambda one: one.priority)
            for batch in batches:
                batch.hand_out(self._workers, self._config.episodes_per_worker)
            self._harvest()
            self._overdue()
        finally:
            self._turn.release()

    def _harvest(self) -> None:
        """Collect ended episodes; a lost worker is replaced."""
        replies = {reply: worker for worker in self._workers for reply in worker.awaited}
        if not replies:
            time.sleep(POLL_S)
        for reply in self._processes.wait(list(replies), POLL_S):
            worker = replies[reply]
            if reply not in worker.awaited:
                continue  # its worker was lost just now
            try:
                found = self._processes.results([reply])[0]
            except ProcessLost as cause:
                lost(worker, "rollout-worker-lost", str(cause))
                self._replace(worker, "was lost", str(cause), lost_workers=1)
                continue
            if reply == worker.starting:
                self._started(worker, found)
            else:
                attempt = worker.end(reply, time.monotonic())
                attempt.batch.ended(found, attempt)

    def _overdue(self) -> None:
        """Replace workers that do not respond."""
        self._members.look()
        now, bound = time.monotonic(), self._config.ray.start_timeout_s
        for worker in stalled(self._workers, now, self._config.engine.stall_s):
            silent = f"finished no episode for {now - worker.silent_since:.0f} s"
            lost(worker, "rollout-worker-stalled", silent)
            self._replace(worker, silent, silent, stalled=1)
        for worker in self._workers:
            if worker.starting is not None and now - worker.began > bound:
                late = f"did not start within {bound:g} s"
                self._replace(worker, late, late, lost_workers=1)
            elif worker.process is None:
                self._start(worker)

    def _started(self, worker: Replica, seen: tuple[str, ...]) -> None:
        worker.starting, worker.gpus = None, seen if self._gpus else ()
        cost = worker.setbacks.reached(worker.finished, time.monotonic())
        if cost is not None:
            line = f"{worker.name}{self._members.where(worker.name)} plays, {cost:.1f} s after the loss"
            self._faults.note(line, workers_s=cost)

    def _replace(self, worker: Replica, what: str, told: str, **counts: int) -> None:
        """Replace a worker for this reason; its episodes have been taken from it."""
        where = self._members.where(worker.name)
        self._faults.note(f"{worker.name}{where} {what}, and is replaced", **counts)
        worker.setbacks.lost(time.monotonic())
        hopeless = f"{worker.name} was lost {{}} times without finishing an episode"
        stop_if_hopeless(worker.setbacks, self._config.ray.max_replacements, hopeless, told)
        self._start(worker)

    def _start(self, worker: Replica) -> None:
        """Start another process in a worker's slot, where a node has room for it."""
        if worker.process is not None:
            self._processes.kill(worker.process)  # it may live, cut off from us
        worker.process = worker.starting = None
        self._members.look(at_once=True)
        node = self._members.place(worker.name, self._gpus)
        if node is None or self._checkpoint is None:
            self._processes.leave(worker.name)
            if all(other.process is None for other in self._workers):
                raise RunStopped(f"{_no_room(self._gpus)} for a rollout worker; resume the run when one has")
            return
        worker.process = self._processes.rollout(worker.name, node, self._gpus, self._url, self._checkpoint)
        worker.starting, worker.began = worker.process.ready.remote(), time.monotonic()


def _no_room(gpus: int) -> str:
    return f"no node has {'a GPU' if gpus <= 1 else f'{gpus} GPUs'} left"
