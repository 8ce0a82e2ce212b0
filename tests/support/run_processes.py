"""Stand-in for the processes of a run: episodes and checkpoints that are functions of their requests."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling
from agentevol.loop.evolve import evolve
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.seats import failed_episode
from agentgym_store.records import Sample, Terminated, Trajectory, Turn


class Killed(Exception):
    """What ends a run in a test."""


def learnt(job: LearnerJob, number: int = 0) -> LearnReport:
    """Write a checkpoint that is a function of the training's sequences, and of a `number`."""
    job.out.mkdir(parents=True)
    weights = sum(int(sequence.token_ids.sum()) for sequence in job.sequences) + number
    (job.out / "model.safetensors").write_text(f"{weights}")
    (job.out / "agentevol.json").write_text('{"version": 1, "metrics": {}}')
    return LearnReport(job.checkpoint, {})


class Processes:
    """Stands in for the processes of a run; killed before the trajectory that comes after `left` ones."""

    def __init__(self, left: int = 10_000) -> None:
        self.left, self.version = left, 0
        self.played: list[str] = []
        self.learnt: set[str] = set()

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        self.version = checkpoint.version

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        """The first seat wins where the seed is even; the others always lose."""
        for request in requests:
            self.played.append(request.id)
            for one in failed_episode(request, "p", "", ""):
                if not self.left:
                    raise Killed
                self.left -= 1
                won = float(one.seat == 0 and request.seed % 2 == 0)
                token = 2 + request.seed % 5
                said = {"text": "", "prompt_ids": (1,), "token_ids": (token,), "logprobs": (-1.0,)}
                sample = Sample(**said, policy_version=self.version)
                turns = (Turn(action=str(token), observation="o", reward=won, sample=sample),)
                yield one.model_copy(update={"ending": Terminated(), "turns": turns})

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        self.learnt |= {sequence.trajectory_id for sequence in job.sequences}
        return learnt(job)


def go_on(folder: RunFolder, processes: Processes) -> None:
    """Run, or finish, the run in `folder`."""
    base = folder.checkpoints.base()
    processes.version = base.version
    with Stages(RunContext.of(folder, processes, "", base, Progress(Console(quiet=True)))) as run:
        evolve(run)
