"""Process interface on Ray: start, calls, waiting and end."""

import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import (
    ActorPlacementGroupRemoved,
    ActorUnschedulableError,
    GetTimeoutError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.processes.interface import ProcessLost
from agentevol.cluster.processes.membership import LOOK_S
from agentevol.cluster.processes.nodes import Facts, Node, Place, alive, facts
from agentevol.cluster.processes.shared_storage import Token
from agentevol.cluster.ray_backend.placement_groups import Groups, label_of
from agentevol.cluster.workers.environment import EnvironmentWorker
from agentevol.cluster.workers.learner import LearnerWorker
from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import AgentEvolError, RunStopped, one_line
from agentevol.core.protocols import Checkpoint

CHECK_TIMEOUT_S = 120.0
"""Seconds after which a node that has not returned its facts cannot take part."""
_LOST = (
    RayActorError,
    ActorPlacementGroupRemoved,
    ActorUnschedulableError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
)


class RayProcesses:
    """`agentevol.cluster.processes.interface.Processes` on Ray.

    No processors are claimed: rollout workers and the learner take turns on the same ones. GPUs are, in
    placement groups.
    """

    def __init__(
        self, config: RunConfig, rollout_worker: type[Any], store: CheckpointStore | None = None
    ) -> None:
        self._config, self._rollout_worker, self._store = config, rollout_worker, store
        self._groups, self._together = Groups(), Groups()
        """Groups of rollout workers; of learners, one group on each node."""

    def alive(self) -> list[Node]:
        """Living nodes. Raises `RunStopped` where GPUs on one of them were waited for in vain."""
        there = alive(ray.nodes(), ray.get_runtime_context().get_node_id())
        for groups in (self._groups, self._together):
            groups.keep_on({node.id for node in there})
            groups.check(self._config.ray.start_timeout_s)
        return there

    def labelled(self, labels: Mapping[str, str]) -> list[Node]:
        rows = [row for row in ray.nodes() if labels.items() <= row["Labels"].items()]
        return alive(rows, ray.get_runtime_context().get_node_id())

    def facts(
        self, nodes: Sequence[Node], packages: Sequence[str], token: Token, url: str
    ) -> list[Facts | str]:
        asked = [
            ray.remote(facts)
            .options(num_cpus=0, max_retries=0, scheduling_strategy=_on(node))
            .remote(packages, token, url)
            for node in nodes
        ]
        return [_told(reply) for reply in asked]

    def rollout(self, name: str, node: Node, gpus: int, url: str, checkpoint: Checkpoint) -> Any:
        engine = self._config.engine
        place = self._groups.on(name, node, [gpus]) if gpus else _on(node)
        worker = ray.remote(self._rollout_worker).options(
            num_cpus=0,
            num_gpus=gpus,
            max_concurrency=engine.capacity + 8,
            runtime_env=self._environment(engine.threads),
            scheduling_strategy=place,
        )
        rule = self._config.rollout.in_flight_rule
        lora = self._config.learn.lora if engine.serves_adapters else None
        return worker.remote(engine, self._config.environment, url, checkpoint, rule, lora, self._store)

    def leave(self, name: str) -> None:
        self._groups.remove(name)

    def learners(self, places: Sequence[Place]) -> list[Any]:
        self._together.keep_on({place.node.id for place in places if place.claimed})
        found, there = list[Any](), Counter[str]()
        for rank, place in enumerate(places):
            node, where = place.node, _on(place.node)
            if place.claimed:
                bundles = [place.claimed] * places.count(place)
                where = self._together.on(f"learners on {node.name}", node, bundles, there[node.id])
            there[node.id] += 1
            found.append(self._learner(rank, place, where))
        return found

    def _learner(self, rank: int, place: Place, where: Any) -> Any:
        config = self._config.learn
        threads = config.threads or max(1, (os.cpu_count() or 1) // config.shards)
        worker = ray.remote(LearnerWorker).options(
            num_cpus=0,
            num_gpus=place.claimed,
            max_concurrency=2,
            runtime_env=self._environment(threads, place.shared),
            scheduling_strategy=where,
        )
        return worker.remote(rank, config.shards, ray.util.get_node_ip_address, threads, self._store)

    def _environment(self, threads: int, gpu: str = "") -> dict[str, Any] | None:
        """Environment variables of a process on another node; `gpu` is one that it has not claimed. On this
        machine all have the driver's: for different ones, Ray starts a process twice.
        """
        shared = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
        if self._config.ray.address is None:
            return {"env_vars": shared} if shared else None
        numbers = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        return {"env_vars": {**numbers, **shared, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}}

    def environment(self, node: Node, log: Path, served: Sequence[EnvironmentConfig], again: str) -> Any:
        labels = {**self._config.ray.environment_labels, **label_of(node)}
        worker = ray.remote(EnvironmentWorker).options(num_cpus=0, label_selector=labels)
        host = ray.util.get_node_ip_address
        return worker.remote(served, log, host, again, self._store)

    def kill(self, process: Any) -> None:
        ray.kill(process)

    def wait(self, replies: Sequence[Any], timeout_s: float) -> list[Any]:
        if not replies:
            return []
        done, _ = ray.wait(list(replies), num_returns=1, timeout=timeout_s)
        if done:  # all other ready replies are returned with it
            done, _ = ray.wait(list(replies), num_returns=len(replies), timeout=0)
        return done

    def results(self, replies: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
        try:
            return self._got(list(replies), timeout_s)
        except _LOST as cause:
            raise ProcessLost(str(cause)) from cause
        except RayTaskError as cause:
            if isinstance(cause.cause, AgentEvolError):
                raise cause.cause from None
            raise RunStopped(f"a worker broke: {cause.cause!r}") from cause
        except GetTimeoutError as cause:
            raise RunStopped(
                f"a process has not answered for {timeout_s:g} s (ray.start_timeout_s): `ray status` tells"
                " whether the cluster has room for it"
            ) from cause
        except RayError as cause:
            raise RunStopped(f"Ray failed: {one_line(cause)}") from cause

    def _got(self, replies: list[Any], timeout_s: float | None) -> list[Any]:
        """Results that Ray returns within this time. Reservations are checked meanwhile: the call may wait
        for one.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            try:
                return ray.get(replies, timeout=max(0.0, min(LOOK_S, left_s)))
            except GetTimeoutError:
                self.alive()
                if left_s <= LOOK_S:
                    raise


def _on(node: Node) -> NodeAffinitySchedulingStrategy:
    """Strategy for this node and no other: Ray 2.60 puts an actor anywhere with a preference (`soft`)."""
    return NodeAffinitySchedulingStrategy(node.id, soft=False)


def _told(reply: Any) -> Facts | str:
    try:
        return ray.get(reply, timeout=CHECK_TIMEOUT_S)
    except RayTaskError as cause:
        return repr(cause.cause)
    except RayError as cause:
        return one_line(cause)
