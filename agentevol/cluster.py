"""Processes on Ray: rollout workers that explore and evaluate, a learner that learns. The only file that
imports ray.

    with Cluster(config) as cluster:
        cluster.check_nodes(folder, url)
        cluster.start_rollouts(checkpoint, url)
        for trajectory in cluster.play(requests, sampling, played): ...
        report = cluster.learn(start, rows, out, ...)

What these processes do, and what is done when one dies, is in `agentevol.workers`.
"""

import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
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
from ray.util import placement_group, remove_placement_group
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from agentevol.config.run import RunConfig
from agentevol.engines.vllm_transfer import Step
from agentevol.errors import AgentEvolError, ConfigError, RunStopped, TransferFailed
from agentevol.learn.algorithms.contract import Floats
from agentevol.learn.config import LearnConfig
from agentevol.loop.explore import EpisodeRequest
from agentevol.protocols import Anchor, Checkpoint, LearnReport, Sampling, TrainingSequence
from agentevol.serving import EnvironmentServer
from agentevol.workers.claims import gpus_of_learners, gpus_of_rollouts
from agentevol.workers.dispatch import Played
from agentevol.workers.environment import EnvironmentWorker, PlacedServer
from agentevol.workers.faults import FaultLog
from agentevol.workers.fleet import Fleet
from agentevol.workers.learner import LearnerWorker, report_of
from agentevol.workers.learners import Learners
from agentevol.workers.members import LOOK_S, Members
from agentevol.workers.nodes import COMPARED, Facts, Node, Place, alive, facts, folders_of
from agentevol.workers.processes import ProcessLost
from agentevol.workers.reasons import one_line
from agentevol.workers.rollout import RolloutWorker
from agentgym_store.records import Trajectory

CHECK_TIMEOUT_S = 120.0
"""A node that does not say what it has within this time cannot take part."""
_LOST = (
    RayActorError,
    ActorPlacementGroupRemoved,
    ActorUnschedulableError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
)


class Cluster:
    """The processes of a run. A context manager: leaving it ends them.

    `rollout_worker` is the class of what plays: a benchmark of what is around it has another one.
    """

    def __init__(
        self,
        config: RunConfig,
        faults: FaultLog | None = None,
        rollout_worker: type[Any] = RolloutWorker,
    ) -> None:
        self._config, self._faults, self._rollout_worker = config, faults or FaultLog(), rollout_worker

    def __enter__(self) -> "Cluster":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Ray gives its workers niceness 15: beside anything else that computes, they would hardly run.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # A worker for every processor, which would wait for tasks: a run has none.
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
        address = self._config.ray.address
        try:
            ray.init(
                address=address or "local",  # else it would join what `ray start` has left on this machine
                num_cpus=self._config.ray.cpus,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=True,
                runtime_env={"py_modules": folders_of()} if address else None,
            )
        except (ConnectionError, RuntimeError, ValueError, RayError) as cause:
            reason = one_line(str(cause))
            raise ConfigError(f"cannot reach Ray at {address or 'this machine'}: {reason}") from cause
        processes, config = _Processes(self._config, self._rollout_worker), self._config
        self._processes = processes
        compared = (*COMPARED, *(("vllm",) if config.engine.name == "vllm" else ()))
        self._members = Members(processes, self._faults, compared, named=address is not None)
        self._rollouts = Fleet(config, processes, self._members, self._faults)
        self._learners = Learners(config, processes, self._members, self._faults)
        return self

    def __exit__(self, *_: object) -> None:
        ray.shutdown()

    @property
    def _host(self) -> str:
        """An address of this machine at which all workers reach it."""
        return ray.util.get_node_ip_address() if self._config.ray.address else "127.0.0.1"

    def environment(self, log: Path, others: Sequence[str]) -> EnvironmentServer | PlacedServer:
        """The run's environment server, which serves `others` besides and begins when it is entered: on this
        machine, or where `ray.environment_labels` says.
        """
        config, faults = self._config, self._faults
        if config.ray.environment_labels:
            return PlacedServer(config, self._processes, self._members, faults, log, others)
        return EnvironmentServer(config.environment, log, others, self._host, faults)

    def check_nodes(self, folder: Path, url: str) -> None:
        """Raise `ConfigError` for the first node of a joined cluster that cannot take part: it has other
        versions, does not see the run's `folder`, or cannot reach the environment server at `url`.
        """
        if self._config.ray.address is not None:
            self._members.check(folder, url)

    def start_rollouts(self, checkpoint: Checkpoint, url: str) -> None:
        """Start the rollout workers with these weights, against the environment server at `url`."""
        there = self._members.gpus
        claimed = gpus_of_rollouts(self._config, there)
        shared = self._config.engine.colocated and claimed > 0
        if not shared:
            self._learners.start(gpus_of_learners(self._config, there))
        self._rollouts.start(checkpoint, url, claimed)
        if shared:
            self._learners.start(0, self._rollouts.gpus)

    def update(self, checkpoint: Checkpoint) -> None:
        """Give all rollout workers other weights; `rollout.in_flight` says what becomes of episodes under way
        there.
        """
        if self._config.engine.transfer == "disk":
            self._rollouts.update(checkpoint)
        elif not self._rollouts.update(checkpoint, self._send):
            self._learners.end()  # one may wait for an engine that died

    def play(
        self,
        requests: Iterable[EpisodeRequest],
        sampling: Sampling,
        played: Played,
        given_up: Event | None = None,
        priority: int = 0,
    ) -> Generator[Trajectory]:
        """Play all requests, spread over the workers, and yield each episode once when it has ended.

        An episode that infrastructure broke is played again up to `explore.retries` times; then its failure
        is what is yielded. `played` is updated on the way. Once `given_up` is set, no further one is yielded.
        Of what several threads have played, the lowest `priority` comes first.
        """
        yield from self._rollouts.play(requests, sampling, played, given_up, priority)

    def learn(
        self,
        start: Checkpoint,
        rows: Sequence[TrainingSequence],
        out: Path,
        *,
        seed: int,
        version: int,
        table_version: int,
        reference: Checkpoint | None,
        progress: Callable[[int, int, float], None],
        learn: LearnConfig | None = None,
        multipliers: Mapping[str, float] | None = None,
        anchor: Anchor | None = None,
        objectives: Sequence[str] = (),
    ) -> LearnReport:
        """Learn in the learners' processes; where one dies all are replaced, and begin again from `start` or
        from their last saved state (`learn.save_every`). `learn` replaces the run's own;
        `multipliers` are the prices of costs, `anchor` is what `learn` holds on to, `objectives` are what
        heads are about.
        """
        config = self._config if learn is None else self._config.model_copy(update={"learn": learn})
        with self._learners_turn():
            return self._learners.learn(
                progress,
                lambda: report_of(out, version),
                config,
                start,
                ray.put(rows),
                out,
                seed=seed,
                version=version,
                table_version=table_version,
                reference=reference,
                multipliers=multipliers or {},
                anchor=anchor,
                objectives=objectives,
            )

    def values(
        self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """Of each head: episode -> turn -> what the process reward model in `checkpoint` says after it."""
        return self._ask("values", self._config, checkpoint, rows)

    def scores(self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]) -> dict[str, Floats]:
        """Episode -> (H,) what the heads of the reward model in `checkpoint` say of it."""
        return self._ask("scores", self._config, checkpoint, rows)

    def perplexity(self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]) -> float:
        """Of what the rows say, under the policy in `checkpoint`."""
        return self._ask("perplexity", self._config, checkpoint, rows)

    def interpolate(self, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint) -> None:
        """Write `out` with this share of the weights of `learnt`, the others being those of `previous`."""
        self._ask("interpolate", self._config, previous, learnt, share, out)

    def _ask(self, what: str, *given: Any) -> Any:
        with self._learners_turn():
            return self._learners.ask(what, *given)

    @contextmanager
    def _learners_turn(self) -> Iterator[None]:
        """With `engine.colocated` the GPUs are the learners' for a while."""
        if not self._config.engine.colocated:
            yield
            return
        self._rollouts.sleep()
        yield
        self._learners.free()

    def _send(self, checkpoint: Checkpoint, workers: Sequence[Any]) -> list[Any]:
        ranks = len(workers) * self._config.engine.tensor_parallel
        return self._learners.send(checkpoint, _Receivers(workers, ranks))


class _Receivers:
    """`agentevol.engines.vllm_sending.Receivers` by Ray: rollout workers, asked from a learner's process."""

    def __init__(self, workers: Sequence[Any], ranks: int) -> None:
        self._workers, self.ranks = workers, ranks
        self.names = tuple(worker._actor_id.hex() for worker in workers)

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        own = self.ranks // len(self._workers)
        told = [dict(init_info) for _ in self._workers]
        for number, one in enumerate(told):
            if "rank_offset" in one:
                one["rank_offset"] += number * own
        self._each("init_weight_transfer_engine", told)

    def start_weight_update(self) -> None:
        self._all("start_weight_update")

    def update_weights(self, update_info: Any) -> None:
        self._all("update_weights", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._all("finish_weight_update")

    def probe(self) -> list[Any]:
        return self._all("probe")

    def admit(self) -> None:
        self._all("admit")

    def _all(self, step: Step, given: Any = None) -> list[Any]:
        return self._each(step, [given] * len(self._workers))

    def _each(self, step: Step, given: Sequence[Any]) -> list[Any]:
        try:
            return ray.get(
                [one.deliver.remote(step, this) for one, this in zip(self._workers, given, strict=True)]
            )
        except RayTaskError as cause:
            if isinstance(cause.cause, AgentEvolError):
                raise cause.cause from None
            raise TransferFailed(f"an engine broke: {cause.cause!r}") from cause
        except RayError as cause:
            raise TransferFailed(one_line(str(cause))) from cause


class _Processes:
    """`agentevol.workers.processes.Processes` by Ray.

    No processors are claimed: rollout workers and the learner take turns on the same ones. GPUs are, in
    placement groups.
    """

    def __init__(self, config: RunConfig, rollout_worker: type[Any]) -> None:
        self._config, self._rollout_worker = config, rollout_worker
        self._groups, self._together = _Groups(), _Groups()
        """Of rollout workers; of learners, on each node for all that are there."""

    def alive(self) -> list[Node]:
        """Raises `RunStopped` where GPUs on one of them were waited for in vain."""
        there = alive(ray.nodes(), ray.get_runtime_context().get_node_id())
        for groups in (self._groups, self._together):
            groups.keep_on({node.id for node in there})
            groups.check(self._config.ray.start_timeout_s)
        return there

    def labelled(self, labels: Mapping[str, str]) -> list[Node]:
        rows = [row for row in ray.nodes() if labels.items() <= row["Labels"].items()]
        return alive(rows, ray.get_runtime_context().get_node_id())

    def facts(
        self, nodes: Sequence[Node], packages: Sequence[str], token: Path, url: str
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
        rule = self._config.rollout.in_flight
        lora = self._config.learn.lora if engine.lora else None
        return worker.remote(engine, self._config.environment, url, checkpoint, rule, lora)

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
        return worker.remote(rank, config.shards, ray.util.get_node_ip_address, threads)

    def _environment(self, threads: int, gpu: str = "") -> dict[str, Any] | None:
        """What a process finds in its environment on another node; `gpu` is one that it has not claimed. On
        this machine all have the driver's: for one of its own, Ray begins a process twice.
        """
        shared = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
        if self._config.ray.address is None:
            return {"env_vars": shared} if shared else None
        numbers = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        return {"env_vars": {**numbers, **shared, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}}

    def environment(self, node: Node, log: Path, others: Sequence[str], again: str) -> Any:
        labels = {**self._config.ray.environment_labels, **_there(node)}
        worker = ray.remote(EnvironmentWorker).options(num_cpus=0, label_selector=labels)
        return worker.remote(self._config.environment, log, others, ray.util.get_node_ip_address, again)

    def kill(self, process: Any) -> None:
        ray.kill(process)

    def wait(self, replies: Sequence[Any], timeout_s: float) -> list[Any]:
        if not replies:
            return []
        done, _ = ray.wait(list(replies), num_returns=1, timeout=timeout_s)
        if done:  # whatever else is ready comes along
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
            raise RunStopped(f"Ray failed: {one_line(str(cause))}") from cause

    def _got(self, replies: list[Any], timeout_s: float | None) -> list[Any]:
        """What Ray brings within this time. Groups are looked after meanwhile: it may wait for one."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            try:
                return ray.get(replies, timeout=max(0.0, min(LOOK_S, left_s)))
            except GetTimeoutError:
                self.alive()
                if left_s <= LOOK_S:
                    raise


@dataclass
class _Group:
    group: PlacementGroup
    node: Node
    bundles: list[int]
    """GPUs of each."""
    awaited: Any
    """The reply that tells that Ray has set them aside; None once it has."""
    began: float
    """When they were asked for, in seconds of a monotonic clock."""


class _Groups:
    """GPUs that are set aside: one process follows another on them, and nobody gets them in between. By name
    of whom they are for.

    Ray removes what is left of them with the run.
    """

    def __init__(self) -> None:
        self._there: dict[str, _Group] = {}

    def on(self, name: str, node: Node, bundles: list[int], index: int = 0) -> Any:
        """Where the one with this index is scheduled: in what this name has there already, or gets now."""
        held = self._there.get(name)
        if held is None or (held.node.id, held.bundles) != (node.id, bundles):
            self.remove(name)
            where = [_there(node)] * len(bundles)
            wanted = [{"GPU": float(gpus)} for gpus in bundles]
            group = placement_group(wanted, strategy="STRICT_PACK", bundle_label_selector=where)
            held = self._there[name] = _Group(group, node, bundles, group.ready(), time.monotonic())
        return PlacementGroupSchedulingStrategy(held.group, index)

    def remove(self, name: str) -> None:
        """This name has none any more; who was to start there has died."""
        held = self._there.pop(name, None)
        if held is not None:
            remove_placement_group(held.group)

    def keep_on(self, nodes: Container[str]) -> None:
        """Remove those on others: Ray would let who starts there wait for ever."""
        for name, held in list(self._there.items()):
            if held.node.id not in nodes:
                self.remove(name)

    def check(self, bound_s: float) -> None:
        """Raise `RunStopped` where Ray has not set some aside after this time."""
        for held in list(self._there.values()):
            if held.awaited is not None and ray.wait([held.awaited], timeout=0)[0]:
                held.awaited = None
            if held.awaited is not None and time.monotonic() - held.began > bound_s:
                raise RunStopped(
                    f"Ray has not set aside {sum(held.bundles)} of the GPUs on {held.node.name} within"
                    f" {bound_s:g} s (ray.start_timeout_s): `ray status` tells who has them"
                )


def _there(node: Node) -> dict[str, str]:
    """The label that this node alone has."""
    return {"ray.io/node-id": node.id}


def _on(node: Node) -> NodeAffinitySchedulingStrategy:
    """There and nowhere else: Ray 2.60 puts an actor anywhere where it may choose (`soft`)."""
    return NodeAffinitySchedulingStrategy(node.id, soft=False)


def _told(reply: Any) -> Facts | str:
    try:
        return ray.get(reply, timeout=CHECK_TIMEOUT_S)
    except RayTaskError as cause:
        return repr(cause.cause)
    except RayError as cause:
        return one_line(str(cause))
