"""Ray cluster of a run: rollout workers that explore and evaluate, and learners.

    with Cluster(config) as cluster:
        cluster.check_nodes(folder, url)
        cluster.start_rollouts(checkpoint, url)
        for trajectory in cluster.play(requests, sampling, played): ...
        report = cluster.learn(LearnerJob(start, sequences, out, seed), progress)

The workers and the handling of their losses are in `agentevol.cluster.workers`.
"""

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import ray
from ray.exceptions import RayError

from agentevol.cluster.checkpoints.access import Published
from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.pools.dispatch import Played
from agentevol.cluster.pools.learner_group import Learners
from agentevol.cluster.pools.rollout_pool import Fleet
from agentevol.cluster.processes.gpu_allocation import gpus_of_learners, gpus_of_rollouts
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import COMPARED, folders_of
from agentevol.cluster.ray_backend.processes import RayProcesses
from agentevol.cluster.ray_backend.weight_receivers import Receivers
from agentevol.cluster.workers.environment import PlacedServer
from agentevol.cluster.workers.learner import report_of
from agentevol.cluster.workers.rollout import RolloutWorker, WorkerUsage
from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.algorithms.contract import Floats
from agentevol.core.errors import ConfigError, RunStopped, one_line
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling, TrainingSequence
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.faults import FaultLog
from agentgym_store.records import Trajectory


class Cluster:
    """Processes of a run. A context manager: leaving it ends them.

    `rollout_worker` is the class of the rollout workers: a benchmark of the system around them passes another
    one. With a `store` machines find checkpoints there, and need not see the run's folder.
    """

    def __init__(
        self,
        config: RunConfig,
        faults: FaultLog | None = None,
        rollout_worker: type[Any] = RolloutWorker,
        store: CheckpointStore | None = None,
    ) -> None:
        self._config, self._faults, self._rollout_worker = config, faults or FaultLog(), rollout_worker
        self._store, self._published = store, Published(store)

    def __enter__(self) -> "Cluster":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Ray gives its workers niceness 15: beside anything else that computes, they would hardly run.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # one worker for every processor, which would wait for tasks: a run has none
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
        address = self._config.ray.address
        try:
            ray.init(
                address=address or "local",  # else it would join a cluster of `ray start` on this machine
                num_cpus=self._config.ray.cpus,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=True,
                runtime_env={"py_modules": folders_of()} if address else None,
            )
        except (ConnectionError, RuntimeError, ValueError, RayError) as cause:
            reason = one_line(cause)
            raise ConfigError(f"cannot reach Ray at {address or 'this machine'}: {reason}") from cause
        except Exception as cause:  # Ray has no type for a start that takes too long
            reason = one_line(cause)
            raise RunStopped(f"Ray did not start, perhaps since the machine is busy: {reason}") from cause
        processes, config = RayProcesses(self._config, self._rollout_worker, self._store), self._config
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
        """Address of this machine at which all workers reach it."""
        return ray.util.get_node_ip_address() if self._config.ray.address else "127.0.0.1"

    def environment(self, log: Path, served: Sequence[EnvironmentConfig]) -> EnvironmentServer | PlacedServer:
        """Environment server of the run, which serves these environments and begins when it is entered: on
        this machine, or on a node with the labels of `ray.environment_labels`.
        """
        config, faults = self._config, self._faults
        if config.ray.environment_labels:
            return PlacedServer(config, self._processes, self._members, faults, log, served)
        return EnvironmentServer(served[0], log, served[1:], self._host, faults)

    def check_nodes(self, folder: Path, url: str) -> None:
        """Raise `ConfigError` for the first node of a joined cluster that cannot take part: it has other
        versions, does not see the run's `folder`, or the store in its place, or cannot reach the environment
        server at `url`.
        """
        if self._config.ray.address is not None:
            self._members.check(folder if self._store is None else self._store, url)

    def look(self) -> None:
        """Refresh the list of nodes. Raises `RunStopped` where a required one is lost."""
        self._members.look(at_once=True)

    def start_rollouts(self, checkpoint: Checkpoint, url: str) -> None:
        """Start the rollout workers with these weights, against the environment server at `url`."""
        self._published.hand_out(checkpoint)
        there = self._members.gpus
        claimed = gpus_of_rollouts(self._config, there)
        shared = self._config.engine.shares_gpus and claimed > 0
        if not shared:
            self._learners.start(gpus_of_learners(self._config, there))
        self._rollouts.start(checkpoint, url, claimed)
        if shared:
            self._learners.start(0, self._rollouts.gpus)

    def update(self, checkpoint: Checkpoint) -> None:
        """Update the weights of all rollout workers; `rollout.in_flight` determines the fate of episodes
        under way there.
        """
        self._published.hand_out(checkpoint)
        if self._config.engine.weight_transfer == "disk":
            self._rollouts.update(checkpoint)
        elif not self._rollouts.update(checkpoint, self._send):
            self._learners.end()  # one may wait for an engine that died

    def usage(self) -> list[WorkerUsage]:
        """Use of the system by the rollout workers that answer, since the previous call."""
        return self._rollouts.usage()

    def play(
        self,
        requests: Iterable[EpisodeRequest],
        sampling: Sampling,
        played: Played,
        given_up: Event | None = None,
        priority: int = 0,
    ) -> Generator[Trajectory]:
        """Play all requests, spread over the workers, and yield each episode once when it has ended: the
        trajectories of its seats, one after another.

        An episode that infrastructure broke is played again up to `explore.retries` times; then its failure
        is yielded. `played` is updated meanwhile. Once `given_up` is set, no further one is yielded. Among
        the batches of several threads, the lowest `priority` comes first.
        """
        yield from self._rollouts.play(requests, sampling, played, given_up, priority)

    def learn(
        self,
        job: LearnerJob,
        progress: Callable[[int, int, float], None],
        learn: LearnConfig | None = None,
    ) -> LearnReport:
        """Train in the learners' processes; where one dies all are replaced, and begin again from `job.start`
        or from their last saved state (`learn.save_every`). `learn` replaces the run's own configuration.
        """
        config = self._config if learn is None else self._config.model_copy(update={"learn": learn})
        self._published.hand_out(job.start, job.reference, job.sampler, job.anchor and job.anchor.checkpoint)
        made = job.checkpoint
        with self._learners_turn():
            report = self._learners.learn(
                config, ray.put(job), progress, lambda: report_of(made.path, made.version)
            )
        self._published.take_in(made.path)
        return report

    def values(
        self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """For each head: episode -> turn -> value after it by the process reward model in `checkpoint`."""
        self._published.hand_out(checkpoint)
        return self._ask("values", self._config, checkpoint, sequences)

    def scores(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> dict[str, Floats]:
        """Episode -> (H,) scores by the heads of the reward model in `checkpoint`."""
        self._published.hand_out(checkpoint)
        return self._ask("scores", self._config, checkpoint, sequences)

    def perplexity(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> float:
        """Perplexity of the sequences' trained tokens under the policy in `checkpoint`."""
        self._published.hand_out(checkpoint)
        return self._ask("perplexity", self._config, checkpoint, sequences)

    def next_tokens(
        self, checkpoint: Checkpoint, prompts: Sequence[tuple[str, Sequence[int]]], ids: Sequence[int]
    ) -> dict[str, Floats]:
        """Log-probabilities of the tokens `ids` after each named prompt under the policy in `checkpoint`."""
        self._published.hand_out(checkpoint)
        return self._ask("next_tokens", self._config, checkpoint, prompts, ids)

    def interpolate(self, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint) -> None:
        """Write `out` with this share of the weights of `learnt` and the rest of `previous`."""
        self._published.hand_out(previous, learnt)
        self._ask("interpolate", self._config, previous, learnt, share, out)
        self._published.take_in(out.path)

    def average(self, members: Sequence[Checkpoint], out: Checkpoint) -> None:
        """Write `out` with the mean of the members' weights."""
        self._published.hand_out(*members)
        self._ask("average", self._config, members, out)
        self._published.take_in(out.path)

    def _ask(self, what: str, *given: Any) -> Any:
        with self._learners_turn():
            return self._learners.ask(what, *given)

    @contextmanager
    def _learners_turn(self) -> Iterator[None]:
        """With `engine.colocated`, give the GPUs to the learners within the block."""
        if not self._config.engine.shares_gpus:
            yield
            return
        self._rollouts.sleep()
        yield
        self._learners.free()

    def _send(self, checkpoint: Checkpoint, workers: Sequence[Any]) -> list[Any]:
        ranks = len(workers) * self._config.engine.worker_gpus
        return self._learners.send(checkpoint, Receivers(workers, ranks))
