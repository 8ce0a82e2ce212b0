"""Episodes of a run: requests, their play, and the table that stores them."""

import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from threading import Event, Lock

import polars as pl

from agentevol.cluster.cluster import Cluster
from agentevol.cluster.pools.dispatch import Played
from agentevol.config.sections.environment import SELF_PLAY, EnvironmentConfig
from agentevol.core.errors import REPLAY_MISMATCH, TransportFault
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.core.splits import Choice, held_out, parent, remaining, within
from agentevol.data.groups import TaskKey, own_part
from agentevol.data.selection.filters import sampled_tokens
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.loop.state.system_log import SystemLog
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import failed_episodes, stop_above
from agentevol.rollout.tasks import EnvTask, list_tasks
from agentgym_store.purposes import Purpose
from agentgym_store.records import Trajectory
from agentgym_store.store import Where

COMMIT_EVERY_S = 5.0
AWAY_S = 30.0
"""Seconds that the run's own environment server may be unreachable while it restarts."""


class Episodes:
    """Stored and requested episodes of `folder`'s run, played against the environment server at `url`.

    `loaded` is the checkpoint that the cluster's rollout workers hold. Once `given_up` is set, episodes under
    way are abandoned. Several threads may play, but only one of them with weights that have to be loaded.
    """

    def __init__(
        self,
        folder: RunFolder,
        cluster: Cluster,
        url: str,
        loaded: Checkpoint,
        progress: Progress,
        given_up: Event | None = None,
        system: SystemLog | None = None,
    ) -> None:
        self._config = folder.config
        self._alone = folder.config.by_environment
        self._folder, self._cluster, self._url = folder, cluster, url
        self._loaded, self._progress = loaded, progress
        self._given_up, self._writing = given_up or Event(), Lock()
        self._system = system or SystemLog()
        self._first_won: dict[TaskKey, int] = {}
        self._rounds_read = set[int]()

    def of(self, purpose: Purpose, iteration: int) -> list[Trajectory]:
        """Episodes in the table, in the order of their ids."""
        found = self._folder.store.trajectories(Where(purpose=purpose, iteration=iteration))
        return sorted(found, key=lambda t: t.id)

    def explored(self, iteration: int) -> list[Trajectory]:
        """Explored episodes in the table as they are trained on, without given turns, in the order of their
        ids.
        """
        return [own_part(trajectory) for trajectory in self.of("explore", iteration)]

    def ids(self, purpose: Purpose, iteration: int) -> set[str]:
        """Ids of the episodes in the table, those of their requests; no other column is read."""
        frame = self._folder.store.scan(Where(iteration=iteration, purpose=purpose))
        return set(frame.select(pl.coalesce("episode_id", "id")).collect().to_series().to_list())

    def fingerprints(self, purpose: Purpose, iterations: Iterable[int]) -> list[str]:
        """For each iteration, a hash of the names of the table's files that hold its episodes.

        Equal hashes mean equal episodes; no episode is read.
        """
        found = self._folder.store.files(*(Where(purpose=purpose, iteration=number) for number in iterations))
        return [hashlib.sha256("\n".join(names).encode()).hexdigest() for names in found]

    def solved_before(self, iteration: int) -> set[TaskKey]:
        """Tasks that an explored episode of an earlier iteration won; each iteration is read once."""
        missing = set(range(1, iteration)) - self._rounds_read
        if missing:
            self._read_won(missing)
        return {task for task, first in self._first_won.items() if first < iteration}

    def _read_won(self, rounds: set[int]) -> None:
        only = next(iter(rounds)) if len(rounds) == 1 else None
        frame = self._folder.store.scan(Where(purpose="explore", iteration=only))
        won = frame.filter(pl.col("succeeded") & pl.col("iteration").is_in(list(rounds)))
        found = won.group_by("env", "task_id").agg(pl.col("iteration").min()).collect()
        for env, task, first in found.select("env", "task_id", "iteration").iter_rows():
            self._first_won[env, task] = min(first, self._first_won.get((env, task), first))
        self._rounds_read |= rounds

    def outcomes(
        self, purpose: Purpose, iteration: int, split: str | Collection[str] | None = None
    ) -> dict[TaskKey, bool]:
        """Task -> whether a scored episode of this iteration won it; reads only the necessary columns."""
        frame = self._folder.store.scan(Where(purpose=purpose, iteration=iteration, split=split))
        found = (
            frame.filter(pl.col("total_reward").is_not_null() & (pl.col("turn_count") > 0))
            .group_by("env", "task_id")
            .agg(pl.col("succeeded").any())
            .collect()
        )
        return {
            (env, task): won for env, task, won in found.select("env", "task_id", "succeeded").iter_rows()
        }

    def tasks(
        self, split: str, difficulty: str | None, choose: Choice, env: str | None = None
    ) -> list[EnvTask]:
        """The chosen tasks of a split, of the run's own environment or of `env`.

        Of an environment of the run, tasks that evaluation holds out of this split are excluded.

        Raises `RunStopped` where the node of the environment server is lost, `TransportFault` where the
        server does not come back.
        """
        whole, name = split, env or self._config.environment.name
        if name in self._alone:
            share, parts = self._config.evaluate.held_out, self._alone[name].held_out_parts
            if split in parts:
                whole, choose = parent(split), within(choose, held_out(split, share))
            elif taken := [part for part in parts if parent(part) == split]:
                choose = within(choose, remaining(taken, share))
        own = self._config.environment.url is None
        away_until = time.monotonic() + (AWAY_S if own else 0.0)
        while True:
            try:
                found = list_tasks(self._url, name, whole, difficulty, choose)
                return [task._replace(split=split) for task in found]
            except TransportFault:
                self._cluster.look()
                if time.monotonic() >= away_until or self._given_up.wait(1.0):
                    raise

    def request(
        self,
        purpose: Purpose,
        iteration: int,
        task: EnvTask,
        attempt: int,
        max_turns: int | None = None,
    ) -> EpisodeRequest:
        """Request of an episode; `max_turns` None is the run's own limit. An environment besides those of the
        run has its own limit.
        """
        name = task.env or self._config.environment.name
        own = self._alone[name].environment if name in self._alone else None
        is_only = own is not None and len(self._alone) == 1
        place = task.task_id if is_only else f"{name}/{task.task_id}"
        identity = f"{self._config.name}/{purpose}/{iteration:04d}/{place}/{attempt}"
        digest = hashlib.sha256(f"{self._config.seed}/{identity}".encode()).digest()
        return EpisodeRequest(
            id=identity,
            run=self._config.name,
            iteration=iteration,
            purpose=purpose,
            env=name,
            task_id=task.task_id,
            split=task.split,
            kind=task.kind,
            difficulty=task.difficulty,
            instruction=task.instruction,
            seed=int.from_bytes(digest[:4], "big") >> 1,
            attempt=attempt,
            max_turns=max_turns or (own.max_turns if own is not None else None),
            seats=own.seats or 1 if own is not None else 1,
            policy_seat=None if own is None else self._policy_seat(own, purpose, iteration, task.task_id),
            temperature=self._temperature(digest) if purpose == "explore" else None,
        )

    def _temperature(self, digest: bytes) -> float | None:
        """Temperature of an explored episode, where each has its own: drawn by the hash of its request."""
        heat = self._config.explore.temperature
        if not isinstance(heat, tuple):
            return None
        low, high = heat
        return low + (high - low) * int.from_bytes(digest[4:8], "big") / 2**32

    def _policy_seat(
        self, own: EnvironmentConfig, purpose: Purpose, iteration: int, task_id: str
    ) -> int | None:
        """Seat of the policy beside a partner: one for all samples of a task, another one in the next
        exploration of it, and in evaluations always the same.
        """
        if own.partner == SELF_PLAY:
            return None
        drawn = int.from_bytes(hashlib.sha256(f"{self._config.seed}/seat/{task_id}".encode()).digest()[:4])
        return (drawn + (iteration if purpose == "explore" else 0)) % (own.seats or 1)

    def play(
        self,
        purpose: Purpose,
        iteration: int,
        policy: Checkpoint | None,
        requests: Sequence[EpisodeRequest],
        sampling: Sampling,
    ) -> Played:
        """Play the requests that are not in the table yet and append the episodes, batch by batch. Raises
        `RunStopped` once more of them failed than the run allows.

        `policy` is for weights that the loop does not load into the engines: those of a candidate, or of a
        round that a resumed run has to complete. None plays with the weights in the engines.
        """
        there = self.ids(purpose, iteration)
        missing = [request for request in requests if request.id not in there]
        played = Played()
        if not missing:
            return played
        began, tokens = time.perf_counter(), 0
        if policy is not None:
            self.load(policy)
        split = requests[0].split
        with self._progress.playing(
            purpose, split, iteration, len(requests), len(requests) - len(missing)
        ) as bar:
            first = iteration if purpose == "explore" else 0  # evaluations before rounds, these in order
            playing = self._cluster.play(missing, sampling, played, self._given_up, first)
            broken: list[Trajectory] = []
            for batch in self._batches(playing, requests[0].seats):
                self.append(batch, iteration, purpose)
                bar(batch)
                tokens += sum(map(sampled_tokens, batch))
                broken += filter(_is_broken, failed_episodes(batch))
                of = len(there.union(request.id for request in requests))
                stop_above(self._config.explore.max_failed, broken, of)
        self._system.note(purpose, played, len(missing), tokens, time.perf_counter() - began)
        return played

    def append(self, batch: Sequence[Trajectory], iteration: int, purpose: Purpose) -> None:
        """Append episodes to the table. Thread-safe."""
        commit = {"iteration": str(iteration), "purpose": purpose, "first": batch[0].id}
        with self._writing:
            self._folder.store.append(batch, commit={"run": self._config.name, **commit})

    def stop_if_too_many_failed(self, played: Sequence[Trajectory]) -> None:
        """Raise `RunStopped` with the counted reasons where the failures exceed `explore.max_failed`."""
        of = len({t.episode for t in played})
        stop_above(self._config.explore.max_failed, failed_episodes(played), of)

    @property
    def loaded(self) -> Checkpoint:
        """Checkpoint that the rollout workers hold."""
        return self._loaded

    def load(self, policy: Checkpoint) -> None:
        """Load these weights into the rollout workers."""
        if policy != self._loaded:
            self._cluster.update(policy)
            self._loaded = policy

    def _batches(self, trajectories: Iterator[Trajectory], seats: int) -> Iterator[list[Trajectory]]:
        """Batches of whole episodes: all seats of one come in the same commit, or none."""
        batch: list[Trajectory] = []
        since = time.monotonic()
        for trajectory in trajectories:
            batch.append(trajectory)
            if len(batch) % seats:
                continue
            most = seats * self._config.explore.commit_every
            if len(batch) >= most or time.monotonic() - since > COMMIT_EVERY_S:
                yield batch
                batch, since = [], time.monotonic()
        if batch:
            yield batch


def _is_broken(failed: Trajectory) -> bool:
    """Return whether infrastructure ended the episode; a replay with another result is counted elsewhere."""
    return failed.ending.kind == "failed" and failed.ending.failure != REPLAY_MISMATCH
