"""Processes on Ray: rollout workers that explore and evaluate, a learner that learns. The only file that
imports ray.

    with Cluster(config) as cluster:
        cluster.start_rollouts(checkpoint, url)
        for trajectory in cluster.play(requests, sampling, played): ...
        report = cluster.learn(start, rows, out, ...)

A worker that dies takes nothing with it but the episodes it was playing: they are played again by its
replacement.
"""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayActorError, RayTaskError

from agentevol.config.run import RunConfig
from agentevol.config.sections import EngineConfig, EnvironmentConfig
from agentevol.errors import AgentEvolError, ConfigError, RunStopped
from agentevol.learn.algorithms.contract import Floats
from agentevol.learn.config import LearnConfig
from agentevol.loop.explore import EpisodeRequest, failed, play
from agentevol.protocols import Anchor, Checkpoint, LearnReport, Sampling, TrainingSequence
from agentgym_store.records import Trajectory

REPLACEMENTS = 20
"""Workers that may die in one run before it stops: more is not bad luck."""
POLL_S = 0.5
LOSS_S = 10.0
"""After a learner failed: how long Ray may take to tell that another one had died."""
_LOST = (RayActorError, ActorDiedError, ActorUnavailableError)


class RolloutWorker:
    """A process with an engine: plays one episode for every call that is under way."""

    def __init__(
        self, engine: EngineConfig, environment: EnvironmentConfig, url: str, checkpoint: Checkpoint
    ) -> None:
        from agentevol.engines.choice import start_engine
        from agentevol.rewards.forks import Forks
        from agentgym_client import EnvClient
        from agentgym_envs.formats import FORMATS

        _quiet()
        self._engine = start_engine(engine, checkpoint)
        self._client = EnvClient(url)
        self._forks = Forks(self._client, environment.name, engine.workers * engine.in_flight)
        self._format = FORMATS[environment.format]
        self._policies: dict[Sampling, Any] = {}

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Trajectory:
        """One episode under the current weights."""
        policy = self._policies.get(sampling)
        if policy is None:
            policy = self._policies[sampling] = self._engine.serve(sampling)
        episode = await play(self._client, policy, request, self._format, self._forks)
        self._leave_if_lost()
        return episode

    async def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights; no episode is under way then."""
        self._policies.clear()
        try:
            await asyncio.to_thread(self._engine.update, checkpoint)
        finally:
            self._leave_if_lost()

    def _leave_if_lost(self) -> None:
        """End without an engine: the worker that comes instead plays the episodes under way again."""
        if self._engine.lost:
            os._exit(1)

    async def ready(self) -> bool:
        """Answers once the worker has started."""
        return True


class LearnerWorker:
    """A process that learns, one of `size` that do it together. `progress` may be asked during `learn`."""

    def __init__(self, rank: int, size: int) -> None:
        from agentevol.learn.distributed import ALONE

        _quiet()
        self._rank, self._size = rank, size
        self._ranks, self._store = ALONE, None
        self._progress: tuple[int, int, float] = (0, 0, 0.0)

    def meeting_point(self) -> tuple[str, int]:
        """Address and port at which rank 0, which is asked, waits for the others."""
        from agentevol.learn.distributed import meeting_point

        host = ray.util.get_node_ip_address()
        self._store = self._store or meeting_point(host, self._size)
        return host, self._store.port

    def learn(
        self,
        meeting: tuple[str, int] | None,
        config: RunConfig,
        start: Checkpoint,
        rows: Sequence[TrainingSequence],
        out: Path,
        *,
        seed: int,
        version: int,
        table_version: int,
        reference: Checkpoint | None,
        multipliers: Mapping[str, float],
        anchor: Anchor | None,
        objectives: Sequence[str],
    ) -> LearnReport:
        """Train from `start` and write the checkpoint `out`; several ranks find each other at `meeting`."""
        from agentevol.learn.distributed import join, meet
        from agentevol.learn.learner import GradientLearner

        if meeting is not None and self._ranks.size == 1:
            self._ranks = join(self._store or meet(*meeting, self._size), self._rank, self._size)
        self._progress = (0, 0, 0.0)
        temperature = config.learn.rollout_temperature or config.explore.temperature
        learner = GradientLearner(
            config.learn.model_copy(update={"rollout_temperature": temperature}), self._note, self._ranks
        )
        return learner.learn(
            start,
            rows,
            out,
            seed,
            reference=reference,
            multipliers=multipliers,
            anchor=anchor,
            version=version,
            table_version=table_version,
            objectives=objectives,
        )

    def values(
        self, config: RunConfig, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """What each head of a process reward model says after every turn."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.process_learn).values(
            checkpoint, rows, list(config.process.model_heads)
        )

    def scores(
        self, config: RunConfig, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> dict[str, Floats]:
        """What the heads of a reward model say of every episode."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.learn).scores(checkpoint, rows)

    def perplexity(
        self, config: RunConfig, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> float:
        """Of what the rows say, under the policy."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.learn).perplexity(checkpoint, rows)

    def interpolate(
        self, config: RunConfig, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint
    ) -> None:
        """Write the checkpoint `out` with this share of `learnt` and the rest of `previous`."""
        from agentevol.learn.interpolation import write_between
        from agentevol.learn.models import precision

        if not out.path.is_dir():  # asked again after a loss
            dtype = precision(config.learn.save_dtype)
            write_between(previous.path, learnt.path, share, out.path, dtype)

    def progress(self) -> tuple[int, int, float]:
        """Step, number of steps, loss."""
        return self._progress

    def _note(self, step: int, steps: int, loss: float) -> None:
        self._progress = (step, steps, loss)


@dataclass
class Played:
    """What became of a batch of requests, besides the trajectories."""

    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    lost_workers: int = 0


@dataclass
class _Worker:
    actor: Any
    running: dict[Any, tuple[EpisodeRequest, int]] = field(
        default_factory=dict[Any, tuple[EpisodeRequest, int]]
    )
    """Reply -> request and how often it was played before."""


class Cluster:
    """The processes of a run. A context manager: leaving it ends them.

    `rollout_worker` is the class of what plays: a benchmark of what is around it has another one.
    """

    def __init__(self, config: RunConfig, rollout_worker: type[Any] = RolloutWorker) -> None:
        self._config, self._rollout_worker = config, rollout_worker
        self._workers: list[_Worker] = []
        self._learners: list[Any] = []
        """By rank; none once they have failed."""
        self._replaced = 0
        self._checkpoint: Checkpoint | None = None
        self._url = ""

    def __enter__(self) -> "Cluster":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Ray gives its workers niceness 15: beside anything else that computes, they would hardly run.
        os.environ.setdefault("RAY_worker_niceness", "0")
        settings = self._config.ray
        try:
            ray.init(
                address=settings.address,
                num_cpus=None if settings.address else settings.cpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=True,
            )
        except (ConnectionError, RuntimeError) as cause:
            raise ConfigError(f"cannot reach Ray at {settings.address or 'this machine'}: {cause}") from cause
        return self

    def __exit__(self, *_: object) -> None:
        ray.shutdown()

    def start_rollouts(self, checkpoint: Checkpoint, url: str) -> None:
        """Start the rollout workers with these weights, against the environment server at `url`."""
        self._checkpoint, self._url = checkpoint, url
        self._workers = [_Worker(self._new_worker()) for _ in range(self._config.engine.workers)]
        self._learners = self._new_learners()
        try:
            self._get([worker.actor.ready.remote() for worker in self._workers])
        except _LOST as cause:
            raise _start_failure(cause) from cause

    def update(self, checkpoint: Checkpoint) -> None:
        """Give all rollout workers other weights."""
        self._checkpoint = checkpoint
        for worker in self._workers:
            try:
                self._get([worker.actor.update.remote(checkpoint)])
            except _LOST:
                self._replace(worker)

    def play(
        self, requests: Iterable[EpisodeRequest], sampling: Sampling, played: Played
    ) -> Generator[Trajectory]:
        """Play all requests, spread over the workers, and yield each episode once when it has ended.

        An episode that infrastructure broke is played again up to `explore.retries` times; then its failure
        is what is yielded. `played` is updated on the way.
        """
        waiting = deque((request, 0) for request in requests)
        while waiting or any(worker.running for worker in self._workers):
            self._hand_out(waiting, sampling)
            for trajectory, request, tries in self._harvest(played):
                if trajectory.ending.kind == "failed" and tries < self._config.explore.retries:
                    played.replayed += 1
                    waiting.append((request, tries + 1))
                else:
                    yield trajectory

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
        shared = ray.put(rows)
        while True:
            self._learners = self._learners or self._new_learners()
            meeting = self._learners[0].meeting_point.remote() if len(self._learners) > 1 else None
            replies = [
                learner.learn.remote(
                    meeting,
                    config,
                    start,
                    shared,
                    out,
                    seed=seed,
                    version=version,
                    table_version=table_version,
                    reference=reference,
                    multipliers=multipliers or {},
                    anchor=anchor,
                    objectives=objectives,
                )
                for learner in self._learners
            ]
            try:
                return self._await_learning(replies, progress)
            except _LOST:
                self._end_learners()
                self._count_replacement("learner")

    def _await_learning(
        self, replies: Sequence[Any], progress: Callable[[int, int, float], None]
    ) -> LearnReport:
        """What rank 0 reports, once all are done."""
        waiting = list(replies)
        while waiting:
            done, waiting = ray.wait(waiting, timeout=POLL_S)
            progress(*self._get([self._learners[0].progress.remote()])[0])
            try:
                self._get(done)
            except AgentEvolError:
                if len(replies) > 1:
                    _raise_a_loss(waiting)
                    self._end_learners()  # some may still wait for the one that failed
                raise
        return self._get(replies[:1])[0]

    def _end_learners(self) -> None:
        for learner in self._learners:
            ray.kill(learner)
        self._learners = []

    def values(
        self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """Of each head: episode -> turn -> what the process reward model in `checkpoint` says after it."""
        return self._asked("values", checkpoint, rows)

    def scores(self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]) -> dict[str, Floats]:
        """Episode -> (H,) what the heads of the reward model in `checkpoint` say of it."""
        return self._asked("scores", checkpoint, rows)

    def perplexity(self, checkpoint: Checkpoint, rows: Sequence[TrainingSequence]) -> float:
        """Of what the rows say, under the policy in `checkpoint`."""
        return self._asked("perplexity", checkpoint, rows)

    def interpolate(self, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint) -> None:
        """Write `out` with this share of the weights of `learnt`, the others being those of `previous`."""
        self._asked("interpolate", previous, learnt, share, out)

    def _asked(self, what: str, *given: Any) -> Any:
        """What the first learner's process answers; where it dies, another is asked."""
        while True:
            self._learners = self._learners or self._new_learners()
            try:
                asked = getattr(self._learners[0], what)
                return self._get([asked.remote(self._config, *given)])[0]
            except _LOST:
                self._end_learners()
                self._count_replacement("learner")

    def _hand_out(self, waiting: deque[tuple[EpisodeRequest, int]], sampling: Sampling) -> None:
        """Fill every worker with as many episodes as it plays at a time, the emptiest first."""
        most = self._config.engine.in_flight
        while waiting:
            worker = min(self._workers, key=lambda candidate: len(candidate.running))
            if len(worker.running) >= most:
                return
            request, tries = waiting.popleft()
            worker.running[worker.actor.play.remote(request, sampling)] = (request, tries)

    def _harvest(self, played: Played) -> list[tuple[Trajectory, EpisodeRequest, int]]:
        """Episodes that have ended; those of a lost worker end as failed, and the worker is replaced."""
        replies = {reply: worker for worker in self._workers for reply in worker.running}
        done, _ = ray.wait(list(replies), num_returns=1, timeout=POLL_S)
        if done:  # whatever else is ready comes along
            done, _ = ray.wait(list(replies), num_returns=len(replies), timeout=0)
        ended: list[tuple[Trajectory, EpisodeRequest, int]] = []
        for reply in done:
            worker = replies[reply]
            if reply not in worker.running:
                continue  # its worker was lost just now
            try:
                trajectory = self._get([reply])[0]
                ended.append((trajectory, *worker.running.pop(reply)))
            except _LOST as cause:
                played.lost_workers += 1
                ended += [
                    (failed(request, "", "rollout-worker-lost", str(cause)), request, tries)
                    for request, tries in worker.running.values()
                ]
                self._replace(worker)
        return ended

    def _replace(self, worker: _Worker) -> None:
        self._count_replacement("rollout worker")
        worker.running.clear()
        worker.actor = self._new_worker()

    def _count_replacement(self, what: str) -> None:
        self._replaced += 1
        if self._replaced > REPLACEMENTS:
            raise RunStopped(f"{self._replaced} processes died, the last one a {what}; see the run's logs")
        time.sleep(min(0.1 * self._replaced, 2.0))

    def _new_worker(self) -> Any:
        threads = self._config.engine.threads
        # No processors are claimed: rollout workers and the learner take turns on the same ones.
        return (
            ray.remote(self._rollout_worker)
            .options(
                num_cpus=0,
                num_gpus=_gpus_of_rollouts(self._config),
                max_concurrency=self._config.engine.in_flight + 8,
                runtime_env=_threads(threads),
            )
            .remote(self._config.engine, self._config.environment, self._url, self._checkpoint)
        )

    def _new_learners(self) -> list[Any]:
        config = self._config.learn
        threads = config.threads or max(1, (os.cpu_count() or 1) // config.shards)
        worker = ray.remote(LearnerWorker).options(
            num_cpus=0,
            num_gpus=_gpus_each(config.device, config.shards),
            max_concurrency=2,
            runtime_env=_threads(threads),
        )
        return [worker.remote(rank, config.shards) for rank in range(config.shards)]

    def _get(self, replies: Sequence[Any]) -> list[Any]:
        """Results of calls; our own errors come out as they were raised, anything else as a stop with its
        reason.
        """
        try:
            return ray.get(list(replies))
        except RayTaskError as cause:
            if isinstance(cause.cause, AgentEvolError):
                raise cause.cause from None
            raise RunStopped(f"a worker broke: {cause.cause!r}") from cause


def _start_failure(cause: Exception) -> AgentEvolError:
    """Why a worker did not start: Ray tells it as the last line of a traceback."""
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    reason = next(
        (line for line in reversed(lines) if "Error: " in line), lines[-1] if lines else repr(cause)
    )
    kind, _, text = reason.partition(": ")
    if kind.endswith(ConfigError.__name__):
        return ConfigError(text)
    return RunStopped(f"a rollout worker did not start: {reason}")


def _raise_a_loss(replies: Sequence[Any]) -> None:
    """Raise what tells that a process died, where one did: others fail with it, and may be heard first."""
    ended, _ = ray.wait(list(replies), num_returns=len(replies), timeout=LOSS_S) if replies else ([], [])
    for reply in ended:
        try:
            ray.get(reply)
        except _LOST:
            raise
        except RayTaskError:
            continue


def _gpus_each(device: str, learners: int) -> int:
    """How many GPUs each learner claims; raises `ConfigError` where there are some but too few."""
    there = int(ray.cluster_resources().get("GPU", 0)) if device in ("auto", "cuda") else 0
    if 0 < there < learners:
        raise ConfigError(f"learn.shards = {learners} needs a GPU for each: there are {there}")
    return int(there > 0)


def _gpus_of_rollouts(config: RunConfig) -> int:
    """How many GPUs each rollout worker claims; raises `ConfigError` where there are some but too few."""
    if config.engine.name != "vllm":
        return 0
    there = int(ray.cluster_resources().get("GPU", 0))
    workers = config.engine.workers
    learners = config.learn.shards if config.learn.device in ("auto", "cuda") else 0
    if 0 < there < workers + learners:
        raise ConfigError(
            f"engine 'vllm' needs a GPU for each of {workers} rollout workers and {learners} learners: there"
            f" are {there}; set engine.workers lower, or learn.device=cpu"
        )
    return int(there > 0)


def _threads(count: int) -> dict[str, Any]:
    return {"env_vars": {"OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count)}}


def _quiet() -> None:
    """Keep libraries' progress bars out of the workers' logs."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
