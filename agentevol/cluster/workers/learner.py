"""Learner process."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentevol.cluster.checkpoints.access import Shared, copies
from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.workers.process_settings import settle
from agentevol.config.run import RunConfig
from agentevol.core.algorithms.contract import Floats
from agentevol.core.memory import peak_memory
from agentevol.core.protocols import Anchor, Checkpoint, LearnerJob, LearnReport, TrainingSequence

if TYPE_CHECKING:
    from agentevol.engines.vllm.weights.sender import Receivers, Sender


class LearnerWorker:
    """One of `size` learner processes that train together. `progress` may be called during `learn`.

    `host` returns the address at which the others reach this process, `threads` is its number of CPU threads.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        host: Callable[[], str],
        threads: int,
        store: CheckpointStore | None = None,
    ) -> None:
        settle(threads)
        import agentevol.learn.learner  # noqa: F401 - it takes seconds, and there is no training yet
        from agentevol.learn.distributed.ranks import ALONE

        self._rank, self._size, self._host = rank, size, host
        self._ranks, self._meeting = ALONE, None
        self._copies = copies(store)
        self._progress: tuple[int, int, float] = (0, 0, 0.0)
        self._sender: Sender | None = None

    def meeting_point(self) -> tuple[str, int]:
        """Address and port at which rank 0, this process, waits for the others."""
        from agentevol.learn.distributed.ranks import meeting_point

        host = self._host()
        self._meeting = self._meeting or meeting_point(host, self._size)
        return host, self._meeting.port

    def learn(self, meeting: tuple[str, int] | None, config: RunConfig, job: LearnerJob) -> LearnReport:
        """Train a checkpoint; several ranks rendezvous at `meeting`."""
        from agentevol.learn.learner import GradientLearner

        self._copies.use(job.start, job.reference, job.sampler, job.anchor and job.anchor.checkpoint)
        self._join(meeting)
        self._progress = (0, 0, 0.0)
        learn, heat = config.learn, config.explore.temperature
        if learn.rollout_temperature is None and not isinstance(heat, tuple):  # else episodes have their own
            learn = learn.model_copy(update={"rollout_temperature": heat})
        learner = GradientLearner(learn, self._note, self._ranks)
        report = learner.learn(self._here(job))
        if self._rank == 0:
            self._copies.hand_in(job.out)
        return replace(report, checkpoint=job.checkpoint, metrics={**report.metrics, **peak_memory()})

    def values(
        self, config: RunConfig, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """Values of each head of a process reward model after every turn."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.process_learn).values(
            self._brought(checkpoint), sequences, list(config.process.model_heads)
        )

    def scores(
        self, config: RunConfig, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]
    ) -> dict[str, Floats]:
        """Scores of every episode by the heads of a reward model."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.learn).scores(self._brought(checkpoint), sequences)

    def perplexity(
        self, config: RunConfig, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]
    ) -> float:
        """Perplexity of the sequences' trained tokens under the policy."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.learn).perplexity(self._brought(checkpoint), sequences)

    def next_tokens(
        self,
        config: RunConfig,
        checkpoint: Checkpoint,
        prompts: Sequence[tuple[str, Sequence[int]]],
        ids: Sequence[int],
    ) -> dict[str, Floats]:
        """Log-probabilities of the tokens `ids` after each named prompt under the policy."""
        from agentevol.learn.learner import GradientLearner

        return GradientLearner(config.learn).next_tokens(self._brought(checkpoint), prompts, ids)

    def interpolate(
        self, config: RunConfig, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint
    ) -> None:
        """Write the checkpoint `out` with this share of `learnt` and the rest of `previous`."""
        from agentevol.learn.continual.interpolation import write_between
        from agentevol.learn.network.model_checks import precision

        self._copies.use(previous, learnt)
        place = self._copies.place(out.path)
        if not place.is_dir():  # called again after a loss
            before, after = self._copies.here(previous), self._copies.here(learnt)
            write_between(before.path, after.path, share, place, precision(config.learn.save_dtype))
        self._copies.hand_in(out.path)

    def average(self, config: RunConfig, members: Sequence[Checkpoint], out: Checkpoint) -> None:
        """Write the checkpoint `out` with the mean of the members' weights."""
        from agentevol.learn.continual.averaging import write_mean
        from agentevol.learn.network.model_checks import precision

        self._copies.use(*members)
        place = self._copies.place(out.path)
        if not place.is_dir():  # called again after a loss
            folders = [self._copies.here(one).path for one in members]
            write_mean(folders, place, out.version, precision(config.learn.save_dtype))
        self._copies.hand_in(out.path)

    def send(
        self,
        meeting: tuple[str, int] | None,
        config: RunConfig,
        checkpoint: Checkpoint,
        receivers: "Receivers",
    ) -> None:
        """Transfer the weights of a checkpoint to engines; several ranks rendezvous at `meeting`. Raises
        `TransferFailed` and `RunStopped`.
        """
        from agentevol.engines.vllm.weights.sender import Sender

        self._join(meeting)
        engine = config.engine
        self._sender = self._sender or Sender(engine.weight_transfer, self._rank, self._host)
        self._sender.send(self._brought(checkpoint), engine.dtype, receivers)

    def free(self) -> None:
        """Free the GPU's memory for others."""
        import gc

        import torch

        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def progress(self) -> tuple[int, int, float]:
        """Step, number of steps, loss."""
        return self._progress

    def _brought(self, checkpoint: Checkpoint) -> Checkpoint:
        """Make this checkpoint the only one that is read from now on, and return its local path."""
        self._copies.use(checkpoint)
        return self._copies.here(checkpoint)

    def _here(self, job: LearnerJob) -> LearnerJob:
        """The job with paths of this machine."""
        here = self._copies.here
        return replace(
            job,
            start=here(job.start),
            out=self._copies.place(job.out),
            reference=job.reference and here(job.reference),
            sampler=job.sampler and here(job.sampler),
            anchor=job.anchor and self._anchor_here(job.anchor),
        )

    def _anchor_here(self, anchor: Anchor) -> Anchor:
        file = anchor.file if isinstance(self._copies, Shared) else None  # other ranks might not find it
        return replace(anchor, checkpoint=self._copies.here(anchor.checkpoint), file=file)

    def _join(self, meeting: tuple[str, int] | None) -> None:
        """Join the process group of several ranks, unless this process is in it already."""
        from agentevol.learn.distributed.ranks import join, meet

        if meeting is not None and self._ranks.size == 1:
            self._ranks = join(self._meeting or meet(*meeting, self._size), self._rank, self._size)

    def _note(self, step: int, steps: int, loss: float) -> None:
        self._progress = (step, steps, loss)


def report_of(out: Path, version: int) -> LearnReport | None:
    """Report of the learner that wrote the checkpoint `out`; None where there is none.

    Also removes the saved state that it resumed from, in case it died before it could.
    """
    from agentevol.models.checkpoints import read_lineage

    lineage = read_lineage(out)
    if lineage is None:
        return None
    for state in out.parent.glob(f".{out.name}.state*"):
        state.unlink(missing_ok=True)
    told = {name: value for name, value in lineage.metrics.items() if value is not None}
    return LearnReport(Checkpoint(out, version), told)
